import { expect } from 'chai';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { captureError } from '../harness/expectRejection.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { makeTasksDue } from '../harness/tasks.ts';

describe('while the bucket is unavailable', () => {
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
  const countMessages = (sentence: string) => logs().split(sentence).length - 1;
  const waitFor = async (sentence: string) => {
    const before = countMessages(sentence);
    await eventually(sentence, () => countMessages(sentence) > before, 30_000);
  };
  const readStatus = async (uuid: string) => (await customer.readGeneration(uuid)).body.status;

  for (const mode of ['error', 'deny'] as const) {
    it(`keeps a generation queued while the bucket responds with ${mode}, and completes it afterwards`, async () => {
      bucket.mode = mode;
      const { uuid } = await customer.createImage();
      await waitFor('finalize failed; will poll again');
      expect(await readStatus(uuid)).to.equal('queued');
      bucket.mode = 'serve';
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    });
  }

  it('keeps a generation queued while the bucket refuses connections, and completes it afterwards', async () => {
    await bucket.refuseConnections();
    const { uuid } = await customer.createImage();
    await waitFor('finalize failed; will poll again');
    expect(await readStatus(uuid)).to.equal('queued');
    await bucket.acceptConnections();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('completes a generation whose upload hangs within a minute, and others meanwhile', async () => {
    bucket.mode = 'hang';
    const uploads = bucket.uploads.length;
    const { uuid } = await customer.createImage();
    await eventually('uploading', () => bucket.uploads.length > uploads);
    bucket.mode = 'serve';
    const other = await customer.createImage();
    expect((await customer.waitForEnd(other.uuid)).status).to.equal('succeeded');
    expect(await readStatus(uuid)).to.equal('queued');
    expect((await customer.waitForEnd(uuid, 60_000)).status).to.equal('succeeded');
  }).timeout(120_000);

  it('retries the deletion of files that it could not delete', async () => {
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    await bucket.refuseConnections();
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    await waitFor('task failed; it will be repeated');
    await bucket.acceptConnections();
    expect((await bucket.keys()).filter((key) => key.includes(uuid))).to.have.length(2);
    await makeTasksDue(service, 'generation.deleteFiles');
    await eventually('gone', async () => (await bucket.keys()).every((key) => !key.includes(uuid)));
  });

  describe('at the start of a worker', () => {
    it('exits with a message if the configuration has to be changed', async () => {
      const { message } = await captureError(service.startWorker({ MEDIA_S3_BUCKET: 'others' }));
      expect(message).to.match(/exited with 78:\n.*MEDIA_S3_BUCKET cannot be used: .+ the bucket does not exist\.\n/s);
    });

    for (const how of ['refuses', 'hangs'] as const) {
      it(`starts while the bucket ${how}, and stores outputs once it is back`, async () => {
        if (how === 'refuses') await bucket.refuseConnections();
        else bucket.mode = 'hang';
        const worker = await service.startWorker();
        expect(worker.logs()).to.include('media store unavailable; will retry');
        const { uuid } = await customer.createImage();
        if (how === 'refuses') await bucket.acceptConnections();
        else bucket.mode = 'serve';
        expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
        await worker.stop();
      });
    }
  });
});
