import { expect } from 'chai';
import { StoreConfigError } from '../../shared/gateways/media/mediaStore.ts';
import { S3_LIMITS, type S3Options } from '../../shared/gateways/media/s3Connection.ts';
import { s3Store } from '../../shared/gateways/media/s3Store.ts';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import { captureError } from '../harness/expectRejection.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';

describe('the probe of a bucket', () => {
  const bucket = new FakeS3Bucket();
  before(() => bucket.start());
  after(() => bucket.stop());
  beforeEach(() => bucket.reset());

  const open = (options: Partial<S3Options> = {}) =>
    s3Store(
      { ...bucket.options, ...options },
      bucket.mode === 'hang' ? { ...S3_LIMITS, idleMs: scaleTimeout(500), probeMs: scaleTimeout(1_000) } : S3_LIMITS,
    );

  it('puts, lists and deletes a small object, and leaves nothing behind', async () => {
    await open({ prefix: 'outputs' }).probe();
    expect(bucket.requests.map((line) => line.split('?')[0])).to.deep.equal([
      'PUT /outputs/outputs/.probe',
      'GET /outputs/',
      'DELETE /outputs/outputs/.probe',
    ]);
    expect(await bucket.keys()).to.deep.equal([]);
  });

  const misfits: [string, Partial<S3Options>, RegExp][] = [
    [
      'a bucket that does not exist',
      { bucket: 'others' },
      /responded with 404 NoSuchBucket: the bucket does not exist$/,
    ],
    [
      'an unknown key',
      { accessKeyId: 'someone' },
      /responded with 403 InvalidAccessKeyId: MEDIA_S3_ACCESS_KEY_ID is unknown to the store$/,
    ],
    [
      'a secret that does not fit',
      { secretAccessKey: 'x' },
      /responded with 403 SignatureDoesNotMatch: MEDIA_S3_SECRET_/,
    ],
  ];
  for (const [what, options, sentence] of misfits) {
    it(`fails with StoreConfigError for ${what}`, async () => {
      const error = await captureError(open(options).probe());
      expect(error).to.be.instanceOf(StoreConfigError);
      expect(error.message).to.match(sentence);
    });
  }

  it('fails with StoreConfigError if permissions are missing, and if the server is not an S3 store', async () => {
    for (const [mode, sentence] of [
      ['deny', /responded with 403 AccessDenied: access denied; the key needs permission to/],
      ['garbage', /responded with 404 NotFound: check that this is the address of an S3 store$/],
    ] as const) {
      bucket.mode = mode;
      const error = await captureError(open().probe());
      expect(error).to.be.instanceOf(StoreConfigError);
      expect(error.message).to.match(sentence);
    }
  });

  it('fails with a temporary error if the bucket is unavailable or busy', async () => {
    for (const mode of ['error', 'busy', 'proxy', 'drop', 'hang'] as const) {
      bucket.mode = mode;
      expect(await captureError(open().probe()), mode).to.not.be.instanceOf(StoreConfigError);
    }
    bucket.mode = 'proxy';
    const { message } = await captureError(open().probe());
    expect(message).to.match(
      /responded with 502 \w+: the response is not one of an S3 store; a proxy may have sent it$/,
    );
    const unknown = open({ endpoint: 'http://no-such-host.invalid' });
    const error = await captureError(unknown.probe());
    expect(error).to.not.be.instanceOf(StoreConfigError);
    expect(error.message).to.match(/^bucket outputs at http:\/\/no-such-host\.invalid cannot be reached: /);
  });
});
