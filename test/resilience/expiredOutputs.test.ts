import { expect } from 'chai';
import type { Program } from '../../dev/local/environment/program.ts';
import { FakeBlackForestLabs } from '../fakes/providers/blackForestLabs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';
import { waitForStoredEnd } from '../harness/upstreamCallbacks.ts';

describe('an output whose address has expired', () => {
  const fake = new FakeBlackForestLabs();
  let service: TestService;
  let worker: Program;
  let customer: TestCustomer;
  before(async () => {
    await fake.start();
    const bfl = {
      adapter: 'http',
      provider: 'black-forest-labs',
      base_url: `${fake.url}/v1`,
      key: fake.key,
      local: true,
    };
    service = await startTestService({
      workers: 0,
      env: { UPSTREAMS: JSON.stringify({ upstreams: { bfl } }), IMAGE_UPSTREAM: 'bfl:flux-2-pro' },
    });
    worker = await service.startWorker();
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await fake.stop();
  });

  const countFileRequests = () => fake.calls.filter((call) => call.includes('/results/')).length;

  it('is asked for again, and not requested at the old address', async () => {
    fake.faults.file = 'hang';
    const { uuid } = await customer.createImage();
    await eventually('collecting', () => countFileRequests() > 0);
    await worker.kill();
    const [{ upstream_output: output }] = await service.sql('SELECT upstream_output FROM generations WHERE uuid = $1', [
      uuid,
    ]);
    const minutes = (new Date(output.expiresAt).getTime() - service.now.getTime()) / 60_000;
    expect(minutes).to.be.within(8, 10);
    expect(output).to.include({ costCents: 3 });
    fake.signature = 'another';
    fake.faults = {};
    fake.calls.length = 0;
    const expired = JSON.stringify({ ...output, expiresAt: new Date(service.now.getTime() - 1_000).toISOString() });
    await service.sql('UPDATE generations SET upstream_output = $2 WHERE uuid = $1', [uuid, expired]);
    worker = await service.startWorker();
    expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    expect(
      fake.calls.filter((call) => call.includes('/results/')).every((call) => call.includes('sig=another')),
    ).to.equal(true);
    expect(fake.jobs).to.have.length(1);
  });
});
