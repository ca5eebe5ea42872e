import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { InvalidOutputError } from '../../shared/gateways/media/download.ts';
import { buildObjectUrl, presignS3Url } from '../../shared/gateways/media/s3Presign.ts';
import { s3Store } from '../../shared/gateways/media/s3Store.ts';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import { captureError } from '../harness/expectRejection.ts';

/** Example of Amazon's documentation: "Authenticating Requests: Using Query Parameters". */
const EXAMPLE = {
  method: 'GET',
  url: new URL('https://examplebucket.s3.amazonaws.com/test.txt'),
  headers: {},
  expiresInSeconds: 86_400,
  region: 'us-east-1',
  credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
  at: new Date('2013-05-24T00:00:00.000Z'),
} as const;

/** Sends a file. The client adds the length. */
const put = (url: string, type: string, body: string) =>
  fetch(url, { method: 'PUT', headers: { 'content-type': type }, body });

/** Builds the address of an object in a bucket. */
const buildUrl = (bucketName: string, endpoint?: string) =>
  buildObjectUrl({ bucket: bucketName, endpoint, region: 'eu-west-1' }, "a b/ü'.png").href;

describe('presigned addresses of a bucket', () => {
  const bucket = new FakeS3Bucket();
  let folder: string;
  before(async () => {
    await bucket.start();
    folder = await mkdtemp(join(tmpdir(), 'genmeter-presign-'));
  });
  after(async () => {
    await bucket.stop();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => bucket.reset());

  const presign = (method: 'GET' | 'PUT', path: string, headers: Record<string, string> = {}, expiresInSeconds = 60) =>
    s3Store(bucket.options).presign!({ method, path, headers, expiresInSeconds });

  it("have the signature of Amazon's example", () => {
    expect(presignS3Url(EXAMPLE)).to.equal(
      'https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256' +
        '&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z' +
        '&X-Amz-Expires=86400&X-Amz-SignedHeaders=host' +
        '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    );
  });

  it('contain the token of temporary credentials', () => {
    const credentials = { ...EXAMPLE.credentials, sessionToken: 'a/token+1' };
    expect(presignS3Url({ ...EXAMPLE, credentials })).to.include(
      'X-Amz-Security-Token=a%2Ftoken%2B1&X-Amz-SignedHeaders',
    );
  });

  it('name the bucket in the host at Amazon, and in the path elsewhere or with a dot in the name', () => {
    expect(buildUrl('outputs')).to.equal('https://outputs.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC%27.png');
    expect(buildUrl('my.outputs')).to.equal('https://s3.eu-west-1.amazonaws.com/my.outputs/a%20b/%C3%BC%27.png');
    expect(buildUrl('outputs', 'http://minio:9000/')).to.equal('http://minio:9000/outputs/a%20b/%C3%BC%27.png');
  });

  it('store a file with exactly the signed type and length, and read it back', async () => {
    const headers = { 'content-type': 'image/png', 'content-length': '5' };
    const target = await presign('PUT', 'uploads/ab/cd/original/file', headers);
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
    const response = await fetch(await presign('GET', 'uploads/ab/cd/original/file'));
    expect([response.status, response.headers.get('content-type'), await response.text()]).to.deep.equal([
      200,
      'image/png',
      'image',
    ]);
  });

  it('are valid for one method and one key, until they expire', async () => {
    const headers = { 'content-type': 'image/png', 'content-length': '5' };
    const target = await presign('PUT', 'uploads/one', headers);
    expect((await put(target.replace('uploads/one', 'uploads/two'), 'image/png', 'image')).status).to.equal(403);
    expect((await put(await presign('GET', 'uploads/one', headers), 'image/png', 'image')).status).to.equal(403);
    const late = presignS3Url({
      ...EXAMPLE,
      method: 'PUT',
      url: buildObjectUrl(bucket.options, 'uploads/one'),
      headers,
      expiresInSeconds: 60,
      credentials: bucket.options,
      at: new Date(Date.now() - 61_000),
    });
    expect((await put(late, 'image/png', 'image')).status).to.equal(403);
    expect(await bucket.keys()).to.deep.equal([]);
  });

  it('getFile copies an object, returns false for a missing one, and rejects a large one', async () => {
    await bucket.putObjects(['a/one']);
    const local = join(folder, 'one');
    expect(await s3Store(bucket.options).getFile('a/one', local, 1_000)).to.equal(true);
    expect(await readFile(local, 'utf8')).to.equal('placed');
    expect(await s3Store(bucket.options).getFile('a/two', local, 1_000)).to.equal(false);
    const error = await captureError(s3Store(bucket.options).getFile('a/one', local, 3));
    expect(error).to.be.instanceOf(InvalidOutputError);
    bucket.mode = 'deny';
    expect((await captureError(s3Store(bucket.options).getFile('a/one', local, 1_000))).message).to.include(
      'access denied',
    );
  });

  it('readFile returns the bytes of an object, null for a missing one, and rejects a large one', async () => {
    await bucket.putObjects(['a/one']);
    expect((await s3Store(bucket.options).readFile('a/one', 1_000))?.toString()).to.equal('placed');
    expect(await s3Store(bucket.options).readFile('a/two', 1_000)).to.equal(null);
    const error = await captureError(s3Store(bucket.options).readFile('a/one', 3));
    expect(error).to.be.instanceOf(InvalidOutputError);
  });
});
