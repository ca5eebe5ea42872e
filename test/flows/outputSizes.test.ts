import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { storeOutput } from '../../shared/gateways/media/storeOutput.ts';
import type { GenerationFile } from '../../shared/tables/Generation.ts';
import { closeFileServers, startFileServer } from '../fakes/fileServers.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { breakDisk } from '../harness/brokenDisk.ts';
import { captureError } from '../harness/expectRejection.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { makeTasksDue } from '../harness/tasks.ts';

const MEGABYTE = 1024 * 1024;

/** Returns an image of this many bytes. What follows an image is ignored. */
function makeImage(bytes: number): Buffer {
  return Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]);
}

interface Attempt {
  uuid: string;
  mediaToken: string;
}

const newAttempt = (): Attempt => ({ uuid: randomUUID(), mediaToken: randomUUID() });

/** Calls the worker's function on the service that is open in this process. */
function store(url: string, { uuid, mediaToken } = newAttempt(), kind: 'image' | 'video' = 'image') {
  const policy = { upstreamHost: '', allowsPrivateAddresses: true };
  return storeOutput({ output: { url }, policy, kind, generationId: uuid, name: uuid, mediaToken });
}

/** Leaves half of both files. @returns their folder. */
async function leaveHalves(folder: string, { uuid, mediaToken }: Attempt) {
  const hex = mediaToken.replaceAll('-', '');
  const target = join(folder, hex.slice(0, 2), hex.slice(2));
  await mkdir(target, { recursive: true });
  await writeFile(join(target, `${uuid}.png`), PNG.subarray(0, 20));
  await writeFile(join(target, `${uuid}.thumbnail.webp`), 'RI');
  return target;
}

for (const place of ['in a bucket', 'on the disk'] as const) {
  describe(`outputs of every size ${place}`, () => {
    const bucket = new FakeS3Bucket();
    let service: TestService;
    let customer: TestCustomer;
    let folder: string;
    before(async () => {
      await bucket.start();
      service = await startTestService({ env: place === 'in a bucket' ? bucket.env : {} });
      customer = await service.createCustomer('studio');
      folder = service.env['MEDIA_DIR'] as string;
    });
    afterEach(closeFileServers);
    after(async () => {
      await service.stop();
      await bucket.stop();
    });

    const incoming = () => join(folder, '.incoming');
    const getUrl = (path: string | null) =>
      `${place === 'in a bucket' ? bucket.publicUrl : `${service.baseUrl}/media`}/${path}`;
    async function read(path: string | null): Promise<Buffer> {
      const response = await fetch(getUrl(path));
      expect(response.status).to.equal(200);
      return Buffer.from(await response.arrayBuffer());
    }

    async function expectStored(
      { output_path: outputPath, thumbnail_path: thumbnailPath }: GenerationFile,
      content: Buffer,
    ): Promise<void> {
      expect((await read(outputPath)).equals(content)).to.equal(true);
      expect((await sharp(await read(thumbnailPath)).metadata()).format).to.equal('webp');
    }

    for (const [size, bytes] of [
      ['a small image', PNG.length],
      ['an image of one megabyte', MEGABYTE],
      ['an image of a byte more', MEGABYTE + 1],
    ] as const) {
      for (const how of ['with a length', 'without a length', 'in a data URL'] as const) {
        const usesFile = bytes > MEGABYTE || place === 'on the disk';
        it(`store ${size} ${how} ${usesFile ? 'and leave no' : 'without a'} temporary file`, async () => {
          const content = makeImage(bytes);
          const { url } = await startFileServer((_request, response) => {
            if (how === 'without a length') response.write(content.subarray(0, 1));
            response.end(content.subarray(how === 'without a length' ? 1 : 0));
          });
          await rm(incoming(), { recursive: true, force: true });
          const data = `data:image/png;base64,${content.toString('base64')}`;
          await expectStored(await store(how === 'in a data URL' ? data : url), content);
          expect(existsSync(incoming())).to.equal(usesFile);
          if (usesFile) expect(await readdir(incoming())).to.deep.equal([]);
        });
      }
    }

    it('store a small video through a temporary file', async () => {
      const { output_path: outputPath } = await store(
        `data:video/mp4;base64,${MP4.toString('base64')}`,
        newAttempt(),
        'video',
      );
      expect(await read(outputPath)).to.deep.equal(MP4);
      expect(await readdir(incoming())).to.deep.equal([]);
    });

    for (const bytes of [1_000, MEGABYTE + 1]) {
      it(`have no thumbnail if ${bytes} bytes cannot be decoded, and are stored`, async () => {
        const content = Buffer.concat([PNG.subarray(0, 20), Buffer.alloc(bytes - 20, 'x')]);
        const stored = await store(`data:image/png;base64,${content.toString('base64')}`);
        expect(stored.thumbnail_path).to.equal(null);
        expect((await read(stored.output_path)).equals(content)).to.equal(true);
      });
    }

    it('are complete, small and large, if several workers store them at the same time', async () => {
      for (const bytes of [MEGABYTE / 2, 2 * MEGABYTE]) {
        const content = makeImage(bytes);
        const { url } = await startFileServer((_request, response) => void response.end(content));
        const attempt = newAttempt();
        const attempts = Array.from({ length: 8 }, async () => {
          const stored = await store(url, attempt);
          // The fake bucket, unlike a real one, does not replace objects atomically.
          if (place === 'on the disk') await expectStored(stored, content);
          return stored;
        });
        const stored = await Promise.all(attempts);
        await expectStored(stored[0]!, content);
        expect(new Set(stored.map(({ output_path: outputPath }) => outputPath)).size).to.equal(1);
        expect(await readdir(incoming()).catch(() => [])).to.deep.equal([]);
      }
    });

    it('end generations, small and large', async () => {
      for (const bytes of [PNG.length, 2 * MEGABYTE]) {
        const content = makeImage(bytes);
        Object.assign(service.upstream, { picture: content });
        const { uuid } = await customer.createImage();
        const { status, output_url, thumbnail_url } = await customer.waitForEnd(uuid);
        expect(status).to.equal('succeeded');
        expect(Buffer.from(await (await fetch(output_url)).arrayBuffer()).equals(content)).to.equal(true);
        expect((await fetch(thumbnail_url)).status).to.equal(200);
      }
      service.upstream.picture = PNG;
    });

    if (place === 'on the disk') describeFaults(() => ({ service, customer, folder, expectStored }));
  });
}

interface Fixture {
  service: TestService;
  customer: TestCustomer;
  folder: string;
  expectStored: (stored: GenerationFile, content: Buffer) => Promise<void>;
}

/** Faults of the disk, and files that a worker left when it died during a write. */
function describeFaults(getFixture: () => Fixture): void {
  const url = `data:image/png;base64,${PNG.toString('base64')}`;

  it('are complete after an earlier attempt died during the write', async () => {
    const { folder, expectStored } = getFixture();
    const attempt = newAttempt();
    const target = await leaveHalves(folder, attempt);
    await expectStored(await store(url, attempt), PNG);
    expect(await readdir(target)).to.have.length(2);
  });

  for (const outcome of ['succeeded', 'failed'] as const) {
    it(`leave no partial file if a worker died during the write and the generation has ${outcome}`, async () => {
      const { service, customer, folder } = getFixture();
      service.upstream.outcome = 'wait';
      const { uuid, prompt } = await customer.createImage();
      await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
      const [row] = await service.sql('SELECT media_token FROM generations WHERE uuid = $1', [uuid]);
      const target = await leaveHalves(folder, { uuid, mediaToken: row.media_token as string });
      service.upstream.end(prompt, outcome);
      service.upstream.outcome = 'succeed';
      const { status, output_url } = await customer.waitForEnd(uuid);
      expect(status).to.equal(outcome);
      if (outcome === 'succeeded') {
        expect(Buffer.from(await (await fetch(output_url)).arrayBuffer())).to.deep.equal(PNG);
        expect(await readdir(target)).to.have.length(2);
        return;
      }
      await makeTasksDue(service, 'generation.deleteFiles');
      await eventually('deleted', () => !existsSync(target), 15_000);
    });
  }

  it('keep a generation queued while the disk is full, and end it afterwards', async () => {
    const { service, customer } = getFixture();
    const logs = () => service.workers.map((worker) => worker.logs()).join('');
    const countFailures = () => logs().split('finalize failed; will poll again').length;
    const before = countFailures();
    const repair = breakDisk('ENOSPC');
    try {
      const error = await captureError(store(url, newAttempt()));
      expect((error as NodeJS.ErrnoException).code).to.equal('ENOSPC');
      const { uuid } = await customer.createImage();
      await eventually('failed', () => countFailures() > before);
      expect((await customer.readGeneration(uuid)).body.status).to.equal('queued');
      repair();
      const ended = await customer.waitForEnd(uuid);
      expect(ended.status).to.equal('succeeded');
      expect(Buffer.from(await (await fetch(ended.output_url)).arrayBuffer())).to.deep.equal(PNG);
      expect((await fetch(ended.thumbnail_url)).status).to.equal(200);
    } finally {
      repair();
    }
  });
}
