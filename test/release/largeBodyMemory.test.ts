import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import sharp from 'sharp';
import { readProcfileFlags } from '../../dev/build/procfileFlags.ts';
import { listChildPids, readProcessMemory } from '../../dev/local/procfs.ts';
import {
  ARRIVING_BODIES_MAX,
  IMAGE_BODY_LIMIT_BYTES,
  LARGE_BODIES_MAX,
  LARGE_BODIES_MAX_BYTES,
} from '../../shared/spec/limits.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildImageCatalog } from '../harness/inputImages.ts';
import { startTestService } from '../harness/testService.ts';

const CONTAINER_KB = 512 * 1024;
/** Bytes of each of three images that fill a body as data URLs. */
const IMAGE_BYTES = IMAGE_BODY_LIMIT_BYTES / 4 - 300;

/** Builds a create of 8 MB with three different images. */
function buildBody(image: Buffer): Buffer {
  const images = [1, 2, 3].map(() => {
    const file = Buffer.concat([image, randomBytes(IMAGE_BYTES - image.length)]);
    return `data:image/jpeg;base64,${file.toString('base64')}`;
  });
  return Buffer.from(JSON.stringify({ model: 'edit', prompt: 'x', params: { images } }));
}

/** Sends a body of 8 MB up to its last bytes, which `request.end` sends. */
async function sendBody(baseUrl: string, { key }: TestCustomer, body: Buffer) {
  const request = httpRequest(new URL('/api/generations/create/', baseUrl), {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', 'content-length': String(body.length) },
  });
  const response = once(request, 'response').then(([{ statusCode }]) => statusCode as number);
  response.catch(() => {});
  request.on('error', () => {});
  await new Promise((resolve) => request.write(body.subarray(0, -2), resolve));
  return { request, response, rest: body.subarray(-2) };
}

describe('memory of large bodies', function () {
  this.timeout(90_000);

  it('as many as can arrive at a time fit into a container of 512 MB, with the largest images', async function () {
    if (process.platform !== 'linux') this.skip();
    const env = { CATALOG: buildImageCatalog() };
    const service = await startTestService({ env });
    const { child, baseUrl } = await service.startApi({}, 0, readProcfileFlags('api'));
    const bodies = LARGE_BODIES_MAX + ARRIVING_BODIES_MAX;
    // Each with an account of its own: an account that holds bodies leaves room for those of others.
    const senders = await Promise.all(Array.from({ length: bodies }, () => service.createCustomer('studio')));
    const create = { width: 7_000, height: 7_000, channels: 3, background: 'teal' } as const;
    const image = await sharp({ create }).jpeg().withMetadata({ orientation: 6 }).toBuffer();
    const complete = await Promise.all(
      senders.slice(0, LARGE_BODIES_MAX).map((sender) => sendBody(baseUrl, sender, buildBody(image))),
    );
    for (const { request, rest } of complete) request.end(rest);
    const arriving = await Promise.all(
      senders.slice(LARGE_BODIES_MAX, bodies).map((sender) => sendBody(baseUrl, sender, buildBody(image))),
    );
    const statuses = Promise.all(complete.map(({ response }) => response));
    let [decoderKb, sharedKb, isOver] = [0, 0, false];
    while (!isOver) {
      for (const pid of listChildPids(child.pid as number)) {
        const memory = readProcessMemory(pid);
        decoderKb = Math.max(decoderKb, memory?.peakKb ?? 0);
        sharedKb = Math.max(sharedKb, memory?.fileKb ?? 0);
      }
      isOver = await Promise.race([statuses.then(() => true), sleep(50, false)]);
    }
    const { peakKb: apiKb = Number.NaN, fileKb = 0 } = readProcessMemory(child.pid as number) ?? {};
    // A container counts once what both map, most of which is Node.
    const usedKb = apiKb + decoderKb - Math.min(fileKb, sharedKb);
    const accepted = (await statuses).filter((status) => status !== 429);
    for (const status of accepted) expect(status).to.be.oneOf([201, 503]);
    expect(accepted).to.have.length(Math.floor(LARGE_BODIES_MAX_BYTES / IMAGE_BODY_LIMIT_BYTES));
    for (const { request } of arriving) request.destroy();
    await service.stop();
    expect(decoderKb).to.be.above(80_000);
    expect(usedKb, `${apiKb} kB of the API and ${decoderKb} kB of its decoder`).to.be.below(CONTAINER_KB);
  });
});
