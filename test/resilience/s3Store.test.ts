import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { StoreConfigError } from '../../shared/gateways/media/mediaStore.ts';
import { S3_LIMITS, type S3Options } from '../../shared/gateways/media/s3Connection.ts';
import { s3Store } from '../../shared/gateways/media/s3Store.ts';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import { captureError } from '../harness/expectRejection.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { useFolder } from '../harness/useFolder.ts';

const CONTENT = Buffer.from('not really a picture');
/** Short limits for requests without a response. Other tests use the limits of production. */
const impatient = () => ({
  ...S3_LIMITS,
  idleMs: scaleTimeout(500),
  requestMs: scaleTimeout(3_000),
  uploadMs: scaleTimeout(15_000),
  probeMs: scaleTimeout(1_000),
});

describe('the S3 store', () => {
  const bucket = new FakeS3Bucket();
  const folder = useFolder();
  const file = join(folder, 'incoming');
  before(async () => {
    await bucket.start();
    await writeFile(file, CONTENT);
  });
  after(() => bucket.stop());
  beforeEach(() => bucket.reset());

  const open = (options: Partial<S3Options> = {}) =>
    s3Store({ ...bucket.options, ...options }, bucket.mode === 'hang' ? impatient() : S3_LIMITS);
  describe('putFiles', () => {
    it('stores a public file with its type and length, cacheable for a year', async () => {
      await open().putFiles('ab/cdef', [{ localFile: file, name: 'image.png', contentType: 'image/png' }]);
      for (const method of ['GET', 'HEAD']) {
        const response = await fetch(`${bucket.publicUrl}/ab/cdef/image.png`, { method });
        expect(response.status).to.equal(200);
        expect(response.headers.get('content-type')).to.equal('image/png');
        expect(response.headers.get('content-length')).to.equal(String(CONTENT.length));
        expect(response.headers.get('accept-ranges')).to.equal('bytes');
        expect(response.headers.get('cache-control')).to.equal('public, max-age=86400');
        expect(await response.text()).to.equal(method === 'GET' ? CONTENT.toString() : '');
      }
    });

    it('stores data in memory with its type and length, without a checksum', async () => {
      await open().putFiles('ab/cdef', [{ data: CONTENT, name: 'image.webp', contentType: 'image/webp' }]);
      expect(bucket.uploads[0]).to.include({ 'content-length': '20', 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' });
      const response = await fetch(`${bucket.publicUrl}/ab/cdef/image.webp`);
      expect(response.headers.get('content-type')).to.equal('image/webp');
      expect(Buffer.from(await response.arrayBuffer())).to.deep.equal(CONTENT);
    });

    it('leaves the local file in place', async () => {
      await open().putFiles('ab/cdef', [{ localFile: file, name: 'image.png', contentType: 'image/png' }]);
      expect(await readFile(file)).to.deep.equal(CONTENT);
    });

    it('stores everything below the prefix', async () => {
      await open({ prefix: 'genmeter/outputs' }).putFiles('ab/cdef', [
        { localFile: file, name: 'image.png', contentType: 'image/png' },
      ]);
      expect(await bucket.keys()).to.deep.equal(['genmeter/outputs/ab/cdef/image.png']);
    });

    it('replaces existing files', async () => {
      await bucket.putObjects(['ab/cdef/image.png']);
      await open().putFiles('ab/cdef', [{ localFile: file, name: 'image.png', contentType: 'image/png' }]);
      expect(await (await fetch(`${bucket.publicUrl}/ab/cdef/image.png`)).text()).to.equal(CONTENT.toString());
    });

    it('sends the length, and no headers that only Amazon supports', async () => {
      await open().putFiles('ab/cdef', [{ localFile: file, name: 'image.png', contentType: 'image/png' }]);
      const headers = bucket.uploads[0] ?? {};
      expect(headers).to.include({ 'content-length': '20', 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' });
      const names = Object.keys(headers).join(' ');
      expect(names).to.not.match(/transfer-encoding|content-encoding|trailer|checksum|expect/);
    });

    it('stores a hundred files concurrently', async () => {
      const store = open();
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          store.putFiles(`ab/${index}`, [{ localFile: file, name: 'a.png', contentType: 'image/png' }]),
        ),
      );
      expect(await bucket.keys()).to.have.length(100);
      await store.close();
    });

    it('fails without a request if the local file does not exist', async () => {
      expect(
        (
          await captureError(
            open().putFiles('ab/c', [{ localFile: join(folder, 'gone'), name: 'a.png', contentType: 'image/png' }]),
          )
        ).message,
      ).to.match(/ENOENT/);
      expect(bucket.requests).to.deep.equal([]);
    });
  });

  describe('while the bucket misbehaves', () => {
    for (const [mode, content] of [
      ['error', { data: CONTENT }],
      ['busy', { localFile: file }],
      ['drop', { localFile: file }],
      ['hang', { data: CONTENT }],
    ] as const) {
      const what = 'data' in content ? 'data in memory' : 'a file';
      it(`attempts an upload of ${what} that fails with ${mode} three times`, async () => {
        bucket.mode = mode;
        bucket.failures = 2;
        await open().putFiles('ab/cdef', [{ ...content, name: 'image.png', contentType: 'image/png' }]);
        expect(bucket.uploads).to.have.length(3);
        expect(await (await fetch(`${bucket.publicUrl}/ab/cdef/image.png`)).text()).to.equal(CONTENT.toString());
      });

      it(`fails with a temporary error after three uploads that fail with ${mode}`, async () => {
        bucket.mode = mode;
        const error = await captureError(
          open().putFiles('ab/cdef', [{ localFile: file, name: 'image.png', contentType: 'image/png' }]),
        );
        expect(error).to.not.be.instanceOf(StoreConfigError);
        expect(error.message).to.match(/^bucket outputs at http:.+ (responded with 50\d|cannot be reached: .+)$/);
        expect(bucket.uploads).to.have.length(3);
      });
    }

    it('does not retry an upload that is rejected', async () => {
      bucket.mode = 'deny';
      expect(
        await captureError(open().putFiles('ab/c', [{ localFile: file, name: 'a.png', contentType: 'image/png' }])),
      ).to.be.instanceOf(StoreConfigError);
      expect(bucket.uploads).to.have.length(1);
    });

    it('times out if the bucket never responds', async () => {
      bucket.mode = 'hang';
      const startedAt = Date.now();
      const store = s3Store(bucket.options, {
        ...S3_LIMITS,
        idleMs: 60_000,
        requestMs: 500,
        uploadMs: 500,
        probeMs: 500,
      });
      const work = [
        store.putFiles('ab/c', [{ localFile: file, name: 'a.png', contentType: 'image/png' }]),
        store.deleteFolder('ab/c'),
        store.probe(),
      ];
      for (const error of await Promise.all(work.map(captureError))) {
        expect(error.message).to.match(/does not respond in time$/);
        expect(error).to.not.be.instanceOf(StoreConfigError);
      }
      expect(Date.now() - startedAt).to.be.below(scaleTimeout(3_000));
    });

    it('reports that the connection was refused, and recovers when the bucket is back', async () => {
      const store = open();
      await bucket.refuseConnections();
      try {
        const work = [
          store.putFiles('ab/c', [{ localFile: file, name: 'a.png', contentType: 'image/png' }]),
          store.deleteFolder('ab/c'),
          store.probe(),
        ];
        for (const { message } of await Promise.all(work.map(captureError))) {
          expect(message).to.match(/cannot be reached: connect ECONNREFUSED/);
        }
      } finally {
        await bucket.acceptConnections();
      }
      await store.putFiles('ab/c', [{ localFile: file, name: 'a.png', contentType: 'image/png' }]);
      expect(await bucket.keys()).to.deep.equal(['ab/c/a.png']);
    });
  });

  describe('deleteFolder', () => {
    it('deletes everything in a folder, and nothing else', async () => {
      const others = ['ab/cd.png', 'ab/cde/image.png', 'xab/cd/image.png'];
      await bucket.putObjects([...others, 'ab/cd/image.png', 'ab/cd/image.thumbnail.webp', 'ab/cd/deeper/image.png']);
      await open().deleteFolder('ab/cd');
      expect(await bucket.keys()).to.deep.equal(others);
    });

    it('lists below the prefix only', async () => {
      await bucket.putObjects(['ab/cd/image.png', 'outputs/ab/cd/image.png']);
      await open({ prefix: 'outputs' }).deleteFolder('ab/cd');
      expect(await bucket.keys()).to.deep.equal(['ab/cd/image.png']);
    });

    it('deletes more objects than one list response contains', async () => {
      bucket.pageSize = 10;
      await bucket.putObjects(Array.from({ length: 25 }, (_, index) => `ab/cd/${index}.png`));
      await open().deleteFolder('ab/cd');
      expect(await bucket.keys()).to.deep.equal([]);
      expect(bucket.requests.filter((line) => line.startsWith('GET'))).to.have.length(3);
    });

    it('ignores a folder that does not exist', async () => {
      await open().deleteFolder('ab/cd');
    });

    it('fails without permission, and deletes nothing', async () => {
      await bucket.putObjects(['ab/cd/image.png']);
      bucket.mode = 'deny';
      expect((await captureError(open().deleteFolder('ab/cd'))).message).to.match(/responded with 403 AccessDenied/);
      expect(await bucket.keys()).to.deep.equal(['ab/cd/image.png']);
    });
  });
});
