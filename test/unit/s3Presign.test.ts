import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { InvalidOutputError } from '../../shared/gateways/media/download.ts';
import { S3_LIMITS, type S3Options } from '../../shared/gateways/media/s3Connection.ts';
import { s3Store } from '../../shared/gateways/media/s3Store.ts';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import { captureError } from '../harness/expectRejection.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';

/** Sends a file. The client adds the length. */
const put = (url: string, type: string, body: string) =>
  fetch(url, { method: 'PUT', headers: { 'content-type': type }, body });

/** File that uploads of these tests declare. */
const FILE = { contentType: 'image/png', bytes: 5 };

describe('presigned addresses of a bucket', () => {
  const bucket = new FakeS3Bucket();
  before(() => bucket.start());
  after(() => bucket.stop());
  beforeEach(() => bucket.reset());

  const presign = (path: string, upload?: typeof FILE, expiresInSeconds = 60) =>
    s3Store(bucket.options).presign!({ path, upload, expiresInSeconds });

  /** Presigns with other options of the store, and parses the address. */
  const presignWith = async (options: Partial<S3Options>) => {
    const store = s3Store({ ...bucket.options, region: 'eu-west-1', ...options });
    return new URL(await store.presign!({ path: "a b/ü'.png", expiresInSeconds: 60 }));
  };

  it('contain the token of temporary credentials', async () => {
    const environment = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key', AWS_SESSION_TOKEN: 'a/token+1' };
    Object.assign(process.env, environment);
    try {
      const { searchParams } = await presignWith({ accessKeyId: undefined, secretAccessKey: undefined });
      expect(searchParams.get('X-Amz-Security-Token')).to.equal('a/token+1');
    } finally {
      for (const name of Object.keys(environment)) delete process.env[name];
    }
  });

  it('name the bucket in the host at Amazon, and in the path elsewhere or with a dot in the name', async () => {
    for (const [options, expected] of [
      [{ endpoint: undefined }, 'https://outputs.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC%27.png'],
      [
        { endpoint: undefined, bucket: 'my.outputs' },
        'https://s3.eu-west-1.amazonaws.com/my.outputs/a%20b/%C3%BC%27.png',
      ],
      [{ endpoint: 'http://minio:9000/' }, 'http://minio:9000/outputs/a%20b/%C3%BC%27.png'],
    ] as const) {
      const { origin, pathname, searchParams } = await presignWith(options);
      expect(origin + pathname).to.equal(expected);
      expect(searchParams.get('X-Amz-Expires')).to.equal('60');
    }
  });

  it('store a file with exactly the signed type and length, and read it back', async () => {
    const target = await presign('uploads/ab/cd/original/file', FILE);
    for (const [type, body] of [
      ['text/html', 'image'],
      ['image/png', 'too long'],
      ['image/png', 'shrt'],
    ] as const) {
      expect((await put(target, type, body)).status, body).to.equal(403);
    }
    expect(await bucket.keys()).to.deep.equal([]);
    expect((await put(target, 'image/png', 'image')).status).to.equal(200);
    expect(await bucket.keys()).to.deep.equal(['uploads/ab/cd/original/file']);
    const response = await fetch(await presign('uploads/ab/cd/original/file'));
    expect([response.status, response.headers.get('content-type'), await response.text()]).to.deep.equal([
      200,
      'image/png',
      'image',
    ]);
  });

  it('are valid for one method and one key, until they expire', async () => {
    const target = await presign('uploads/one', FILE);
    expect((await put(target.replace('uploads/one', 'uploads/two'), 'image/png', 'image')).status).to.equal(403);
    expect((await put(await presign('uploads/one'), 'image/png', 'image')).status).to.equal(403);
    const late = await presign('uploads/one', FILE, 1);
    await setTimeout(2_100);
    expect((await put(late, 'image/png', 'image')).status).to.equal(403);
    expect(await bucket.keys()).to.deep.equal([]);
  });

  it('openFile waits for a reader that takes longer than the bucket may', async () => {
    await bucket.putObjects(['a/one']);
    const limits = { ...S3_LIMITS, requestMs: scaleTimeout(300) };
    const content = (await s3Store(bucket.options, limits).openFile('a/one', 1_000)) as Readable;
    await setTimeout(limits.requestMs + 100);
    expect(await text(content)).to.equal('placed');
  });

  it('openFile opens an object, returns null for a missing one, and rejects a large one', async () => {
    await bucket.putObjects(['a/one']);
    const store = s3Store(bucket.options);
    expect(await text((await store.openFile('a/one', 1_000)) as Readable)).to.equal('placed');
    expect(await store.openFile('a/two', 1_000)).to.equal(null);
    const error = await captureError(store.openFile('a/one', 3));
    expect(error).to.be.instanceOf(InvalidOutputError);
    bucket.mode = 'deny';
    expect((await captureError(store.openFile('a/one', 1_000))).message).to.include('access denied');
  });
});
