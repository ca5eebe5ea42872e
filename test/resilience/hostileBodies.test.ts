import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants } from 'node:zlib';
import { expect } from 'chai';
import sharp from 'sharp';
import { readProcfileFlags } from '../../dev/build/procfileFlags.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildImageCatalog, makeDeepPng, makePrintJpeg } from '../harness/inputImages.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const CREATE = '/api/generations/create/';
/** Begins like a PNG. */
const damaged = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(60_000)]);
const LEVELS = 4_100_000;

/** A square of one color. */
const draw = (side: number) =>
  sharp({ create: { width: side, height: side, channels: 3, background: 'teal' }, limitInputPixels: false });

/** Body of a create in which a parameter is a list of lists. */
function buildNested(levels: number): Buffer {
  const head = '{"model":"edit","prompt":"x","params":{"images":';
  return Buffer.from(`${head}${'['.repeat(levels)}${']'.repeat(levels)}}}`);
}

describe('hostile bodies for a process with the flags of the Procfile', function () {
  this.timeout(60_000);
  let service: TestService;
  let baseUrl: string;
  let stop: () => unknown;
  let customer: TestCustomer;
  let visitor: TestCustomer;
  before(async () => {
    service = await startTestService({ env: { CATALOG: buildImageCatalog() } });
    const api = await service.startApi(
      { RATE_LIMITS: 'on', RATE_CREATES_PER_MINUTE: '600' },
      0,
      readProcfileFlags('api'),
    );
    ({ baseUrl } = api);
    stop = () => api.stop();
    [customer, visitor] = await Promise.all([service.createCustomer('studio'), service.createCustomer(null)]);
  });
  after(async () => {
    await stop();
    await service.stop();
  });

  const send = ({ key }: TestCustomer, body: Uint8Array, headers: Record<string, string> = {}) =>
    sendRawRequest(baseUrl, 'POST', CREATE, {
      headers: {
        'x-api-key': key,
        'content-type': 'application/json',
        'content-length': String(body.length),
        ...headers,
      },
      body,
    });

  /**
   * Sends a create with images. Different numbers make different files, since one that is known is not decoded again.
   */
  const sendImages = (sender: TestCustomer, files: Buffer[], number: number) => {
    const images = files.map((file) => {
      const content = Buffer.concat([file, Buffer.from(String(number))]);
      return `data:image/png;base64,${content.toString('base64')}`;
    });
    return send(sender, Buffer.from(JSON.stringify({ model: 'edit', prompt: 'x', params: { images } })));
  };

  let served = 0;
  /**
   * Asserts the status of attacks. Until all have ended, requests of another customer are served within a second. One
   * of ten may take longer, since other tests share the machine.
   */
  async function expectHarmless(attacks: Promise<{ status: number }>[], ...statuses: number[]): Promise<void> {
    const ended = Promise.all(attacks);
    const times: number[] = [];
    let isOver: boolean;
    do {
      const startedAt = performance.now();
      expect(await sendImages(customer, [damaged], served)).to.include({ status: 400 });
      times.push(Math.round(performance.now() - startedAt));
      served += 1;
      isOver = await Promise.race([ended.then(() => true), sleep(100, false)]);
    } while (!isOver);
    const slow = times.filter((ms) => ms > scaleTimeout(1_000));
    expect(slow.length, `${times.join(', ')} ms`).to.be.at.most(times.length / 10);
    for (const { status } of await ended) expect(status).to.be.oneOf(statuses);
    expect((await sendRawRequest(baseUrl, 'GET', '/api/health/')).status).to.equal(200);
  }

  it('a packed body of 4.1 million levels gets a 413', async () => {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 };
    const packed = brotliCompressSync(buildNested(LEVELS), { params });
    expect(packed.length).to.be.below(1_000);
    const encoded = { 'content-encoding': 'br' };
    await expectHarmless(
      [visitor, customer].map((sender) => send(sender, packed, encoded)),
      413,
    );
  });

  it('a plain body of 4.1 million levels gets a 402 without a plan, and a 400 with one', async () => {
    const nested = buildNested(LEVELS);
    await expectHarmless([send(visitor, nested), send(visitor, nested)], 402);
    const response = await send(customer, nested);
    expect(response.status).to.equal(400);
    expect(response.body.detail).to.include('levels');
    await expectHarmless([], 400);
  });

  it('a body of 8 MB with millions of values gets a 400', async () => {
    const values = Buffer.from(`{"model":"edit","prompt":"x","params":{"images":[${'{},'.repeat(2_700_000)}0]}}`);
    await expectHarmless([send(customer, values)], 400);
    expect((await send(customer, values)).body.detail).to.include('values');
  });

  it('images that take the most time and memory delay no image of another account', async () => {
    const [progressive, webp, refused, print, deep] = await Promise.all([
      draw(7_000).jpeg({ progressive: true }).toBuffer(),
      draw(4_096).webp({ effort: 0 }).toBuffer(),
      draw(7_000).webp({ effort: 0 }).toBuffer(),
      makePrintJpeg(7_071),
      makeDeepPng(7_071),
    ]);
    const attackers = await Promise.all([service.createCustomer('studio'), service.createCustomer('studio')]);
    const attacks = [1, 2].flatMap((number) => [
      sendImages(attackers[0], [progressive, webp, refused], number),
      sendImages(attackers[1], [print, deep, damaged], number),
    ]);
    await expectHarmless(attacks, 400, 503);
  });

  it('a large body is counted before it is read', async () => {
    const { headers } = await send(visitor, buildNested(LEVELS));
    expect(headers.get('ratelimit')).to.match(/^"create";r=\d+/);
  });

  it('nested lists in a small body get a 400', async () => {
    const response = await send(customer, buildNested(30_000));
    expect(response.status).to.equal(400);
  });

  for (const [framing, headers] of [
    ['chunked bodies', { 'transfer-encoding': 'chunked' }],
    ['bodies of 8 MB', { 'content-length': String(8 * 1024 * 1024) }],
  ] as const) {
    it(`nine unfinished ${framing} of accounts without a plan keep no other account out`, async () => {
      const visitors = await Promise.all([1, 2, 3].map(() => service.createCustomer(null)));
      const open = visitors.flatMap(({ key }) =>
        [1, 2, 3].map(() => {
          const request = httpRequest(new URL(CREATE, baseUrl), {
            method: 'POST',
            headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
          });
          request.on('error', () => {});
          request.write('{');
          return request;
        }),
      );
      await Promise.all(open.map((request) => once(request, 'socket').then(([socket]) => once(socket, 'connect'))));
      for (let count = 0; count < 3; count += 1) await expectHarmless([], 400);
      for (const request of open) request.destroy();
    });
  }
});
