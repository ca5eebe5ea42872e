import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import sharp from 'sharp';
import { storeOutput } from '../../shared/gateways/media/storeOutput.ts';
import type { GenerationFile } from '../../shared/tables/Generation.ts';
import { closeFileServers, startFileServer } from '../fakes/fileServers.ts';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { breakDisk } from '../harness/brokenDisk.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { captureError } from '../harness/expectRejection.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { makeTasksDue, readTasks } from '../harness/tasks.ts';

const run = promisify(execFile);

/** Creates a video of one second. */
const FILM = `
  const { default: h264 } = await import('h264-mp4-encoder');
  const encoder = await h264.createH264MP4Encoder();
  Object.assign(encoder, { width: 640, height: 320, frameRate: 10 });
  encoder.initialize();
  for (let frame = 0; frame < 10; frame += 1) encoder.addFrameRgba(new Uint8Array(640 * 320 * 4).fill(20 * frame));
  encoder.finalize();
  (await import('node:fs')).writeFileSync(process.argv[1], encoder.FS.readFile(encoder.outputFilename));`;

/** Fetches an output as a client does, and checks its type and length. @returns its content. */
async function expectServed(url: string, contentType: string): Promise<Buffer> {
  const [head, whole] = await Promise.all([fetch(url, { method: 'HEAD' }), fetch(url)]);
  const content = Buffer.from(await whole.arrayBuffer());
  for (const { status, headers } of [head, whole]) {
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.equal(contentType);
    expect(headers.get('content-length')).to.equal(String(content.length));
    expect(headers.get('accept-ranges')).to.equal('bytes');
    expect(headers.get('cache-control')).to.equal('public, max-age=86400');
  }
  const part = await fetch(url, { headers: { range: 'bytes=1-3' } });
  expect([part.status, await part.text()]).to.deep.equal([206, content.subarray(1, 4).toString()]);
  return content;
}

async function makeFilm(): Promise<Buffer> {
  const film = join(requireTestEnv('TEST_FOLDER'), randomUUID());
  await run(process.execPath, ['--input-type=module', '-e', FILM, film]);
  return readFile(film);
}

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
  describe(`outputs ${place}`, () => {
    const bucket = new FakeS3Bucket();
    let service: TestService;
    let customer: TestCustomer;
    let folder: string;
    before(async () => {
      await bucket.start();
      const env = { MEDIA_FFMPEG_PATH: 'ffmpeg', ...(place === 'in a bucket' ? bucket.env : {}) };
      service = await startTestService({ env });
      customer = await service.createCustomer('studio');
      folder = service.env['MEDIA_DIR'] as string;
    });
    after(async () => {
      await service.stop();
      await bucket.stop();
    });
    beforeEach(() => {
      service.upstream.outcome = 'succeed';
    });

    const incoming = () => join(folder, '.incoming');
    const base = () => (place === 'in a bucket' ? bucket.publicUrl : `${service.baseUrl}/media`);

    async function read(path: string | null): Promise<Buffer> {
      const response = await fetch(`${base()}/${path}`);
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

    /** Returns the address of every file, relative to CDN_URL. */
    async function files(): Promise<string[]> {
      if (place === 'in a bucket') return bucket.keys();
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return null;
          throw error;
        },
      );
      // A folder was deleted during the listing.
      if (entries === null) return files();
      const found = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      return found.map((file) => file.slice(folder.length + 1).replaceAll('\\', '/'));
    }

    it('have addresses under CDN_URL that serve them with type and length', async () => {
      const { uuid } = await customer.createImage();
      const { status, output_url: outputUrl, thumbnail_url: thumbnailUrl } = await customer.waitForEnd(uuid);
      expect(status).to.equal('succeeded');
      for (const url of [outputUrl, thumbnailUrl]) expect(url.startsWith(`${base()}/`), url).to.equal(true);
      expect(outputUrl).to.match(/\/[0-9a-f]{2}\/[0-9a-f]{30}\/[0-9a-f-]{36}\.png$/);
      expect(await expectServed(outputUrl, 'image/png')).to.deep.equal(PNG);
      const thumbnail = await expectServed(thumbnailUrl, 'image/webp');
      expect(await sharp(thumbnail).metadata()).to.include({ format: 'webp', width: 1, height: 1 });
    });

    it('that cannot be decoded have no thumbnail', async () => {
      const { uuid } = await customer.createVideo();
      const ended = await customer.waitForEnd(uuid);
      expect(ended).to.include({ status: 'succeeded', thumbnail_url: null });
      expect(await expectServed(ended.output_url, 'video/mp4')).to.deep.equal(MP4);
    });

    it('are deleted with their generation, and no other files are', async () => {
      const jobs = await Promise.all([customer.createImage(), customer.createImage()]);
      const [kept, gone] = await Promise.all(jobs.map(({ uuid }) => customer.waitForEnd(uuid)));
      expect((await customer.request('DELETE', `/api/generations/${gone.uuid}/`)).status).to.equal(204);
      const isGone = async () => (await files()).every((file) => !file.includes(gone.uuid));
      await eventually('both files gone', isGone, 15_000);
      for (const url of [gone.output_url, gone.thumbnail_url]) expect((await fetch(url)).status).to.equal(404);
      for (const url of [kept.output_url, kept.thumbnail_url]) expect((await fetch(url)).status).to.equal(200);
      await eventually(
        'nothing left to do',
        async () => (await readTasks(service, 'generation.deleteFiles')).length === 0,
      );
    });

    it('are deleted if their generation was deleted while it was queued', async () => {
      service.upstream.outcome = 'wait';
      const { uuid, prompt } = await customer.createImage();
      await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
      expect((await customer.request('DELETE', `/api/generations/${uuid}/`)).status).to.equal(204);
      service.upstream.end(prompt, 'succeeded');
      const hasEnded = async () => (await service.sql('SELECT status FROM generations WHERE uuid = $1', [uuid]))[0];
      await eventually('ended', async () => (await hasEnded())?.status === 'succeeded');
      await eventually('gone', async () => (await files()).every((file) => !file.includes(uuid)), 15_000);
    });

    if (place === 'in a bucket') {
      it('are not served by the API from its disk', async () => {
        await mkdir(join(folder, 'ab/cdef'), { recursive: true });
        await writeFile(join(folder, 'ab/cdef/old.png'), PNG);
        const { status, body } = await service.request('GET', '/media/ab/cdef/old.png');
        expect([status, body.error]).to.deep.equal([404, 'not_found']);
      });
    }

    describe('of every format', () => {
      const picture = sharp({ create: { width: 640, height: 320, channels: 3, background: 'teal' } });
      const samples: [string, string, 'image' | 'video', () => Promise<Buffer>][] = [
        ['png', 'image/png', 'image', () => picture.clone().png().toBuffer()],
        ['jpg', 'image/jpeg', 'image', () => picture.clone().jpeg().toBuffer()],
        ['webp', 'image/webp', 'image', () => picture.clone().webp().toBuffer()],
        ['mp4', 'video/mp4', 'video', makeFilm],
      ];

      for (const [extension, contentType, kind, make] of samples) {
        it(`have a thumbnail (${extension})`, async () => {
          const content = await make();
          const file = join(incoming(), randomUUID());
          await writeFile(file, content);
          const delivery = { output: { file }, kind, generationId: randomUUID(), mediaToken: randomUUID() };
          // Call the worker's function on the service that is open in this process.
          const policy = { upstreamHost: '', allowsPrivateAddresses: false };
          const { output_path: outputPath, thumbnail_path: thumbnailPath } = await storeOutput({
            ...delivery,
            policy,
            name: delivery.generationId,
          });
          expect(await expectServed(`${base()}/${outputPath}`, contentType)).to.deep.equal(content);
          const thumbnail = await expectServed(`${base()}/${thumbnailPath}`, 'image/webp');
          expect(await sharp(thumbnail).metadata()).to.include({ format: 'webp', width: 512, height: 256 });
          expect(await readdir(incoming())).to.deep.equal([]);
        });
      }
    });

    describe('of every size', () => {
      afterEach(closeFileServers);

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

      if (place === 'on the disk') describeFaults(() => ({ service, customer, folder, expectStored }));
    });
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
