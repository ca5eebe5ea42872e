import { expect } from 'chai';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { captureError } from '../harness/expectRejection.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

describe('when the bucket is away', () => {
  const bucket = new FakeS3Bucket();
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await bucket.start();
    service = await startTestService({ env: bucket.env });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await bucket.stop();
  });

  const logs = () => service.workers.map((worker) => worker.logs()).join('');
  const countOf = (sentence: string) => logs().split(sentence).length - 1;
  const waitFor = async (sentence: string) => {
    const before = countOf(sentence);
    await eventually(sentence, () => countOf(sentence) > before, 30_000);
  };
  const statusOf = async (uuid: string) => (await customer.readGeneration(uuid)).body.status;

  for (const mode of ['error', 'busy', 'drop', 'deny'] as const) {
    it(`keeps a job queued while the bucket answers with ${mode}, and ends it once it is back`, async () => {
      bucket.mode = mode;
      const { uuid } = await customer.createImage();
      await waitFor('not ended; will look again');
      expect(await statusOf(uuid)).to.equal('queued');
      bucket.mode = 'serve';
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    });
  }

  it('keeps a job queued while nobody listens, and ends it once somebody does', async () => {
    await bucket.refuseConnections();
    const { uuid } = await customer.createImage();
    await waitFor('not ended; will look again');
    expect(await statusOf(uuid)).to.equal('queued');
    await bucket.acceptConnections();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('ends a job whose upload hangs, in less than a minute, and others meanwhile', async () => {
    bucket.mode = 'hang';
    const uploads = bucket.uploads.length;
    const { uuid } = await customer.createImage();
    await eventually('uploading', () => bucket.uploads.length > uploads);
    bucket.mode = 'serve';
    const other = await customer.createImage();
    expect((await customer.waitForEnd(other.uuid)).status).to.equal('succeeded');
    expect(await statusOf(uuid)).to.equal('queued');
    expect((await customer.waitForEnd(uuid, 60_000)).status).to.equal('succeeded');
  }).timeout(120_000);

  it('takes files away later that it cannot take away now', async () => {
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    await bucket.refuseConnections();
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    await waitFor('not removed; will be tried again');
    await bucket.acceptConnections();
    expect((await bucket.keys()).filter((key) => key.includes(uuid))).to.have.length(2);
    await service.sql('UPDATE media_deletions SET next_attempt_at = now()');
    await eventually('gone', async () => (await bucket.keys()).every((key) => !key.includes(uuid)));
  });

  describe('when a worker starts', () => {
    it('ends it with a sentence where somebody has to change something', async () => {
      const misfits: [Record<string, string>, RegExp][] = [
        [{ CDN_URL: '' }, /ended with 78:\nCDN_URL is not set: with MEDIA_S3_BUCKET .+\.\n/],
        [{ MEDIA_S3_SECRET_ACCESS_KEY: '' }, /ended with 78:\nMEDIA_S3_SECRET_ACCESS_KEY is not set/],
        [
          { MEDIA_S3_BUCKET: 'others' },
          /ended with 78:\n.*MEDIA_S3_BUCKET cannot be used: .+ there is no such bucket\.\n/s,
        ],
        [{ MEDIA_S3_ACCESS_KEY_ID: 'x' }, /ended with 78:\n.*MEDIA_S3_BUCKET cannot be used: .+InvalidAccessKeyId/s],
      ];
      for (const [env, sentence] of misfits)
        expect((await captureError(service.startWorker(env))).message).to.match(sentence);
      bucket.mode = 'deny';
      expect((await captureError(service.startWorker())).message).to.match(
        /ended with 78:\n.*MEDIA_S3_BUCKET cannot be used: .+access denied/s,
      );
      bucket.mode = 'serve';
    });

    for (const how of ['refuses', 'hangs'] as const) {
      it(`starts it all the same where the bucket ${how}, and stores outputs once it is back`, async () => {
        if (how === 'refuses') await bucket.refuseConnections();
        else bucket.mode = 'hang';
        const worker = await service.startWorker();
        expect(worker.logs()).to.include('outputs cannot be kept now; will be tried again');
        const { uuid } = await customer.createImage();
        if (how === 'refuses') await bucket.acceptConnections();
        else bucket.mode = 'serve';
        expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
        await worker.stop();
      });
    }
  });
});
