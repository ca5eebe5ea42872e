import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { IMAGE } from '../harness/apiClient.ts';
import { enableAutoTopups } from '../harness/autoTopups.ts';
import { seedImages, setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { makeTasksDue } from '../harness/tasks.ts';

describe('an automatic top-up whose claim was committed and whose response was lost', () => {
  let service: TestService;
  let database: FaultProxy;
  before(async () => {
    service = await startTestService({ apis: 0, workers: 0, env: { DATABASE_TIMEOUT_MS: '1500' } });
    database = await new FaultProxy(service.env['DATABASE_URL'] as string).start();
    await service.startApi({ DATABASE_URL: database.url });
    await setAllModelsOnline(service);
  });
  after(async () => {
    await service.stop();
    await database.stop();
  });

  it('returns an unknown outcome instead of 402, and is credited by the sweep', async () => {
    const customer = await service.createCustomer('lite');
    await enableAutoTopups(customer);
    await seedImages(service, customer, (await customer.balance()) - 1);
    // The commit that follows the rejected charge is the claim's.
    let isRejected = false;
    database.cutReplies((chunk) => {
      isRejected ||= chunk.includes('insufficient_credits');
      if (!isRejected || !chunk.includes('COMMIT')) return false;
      database.freeze();
      return true;
    });
    const { status, body } = await customer.request('POST', '/api/generations/create/', {
      body: { ...IMAGE, prompt: 'a pier' },
      headers: { 'idempotency-key': randomUUID() },
    });
    database.open();
    expect([status, body.error]).to.deep.equal([503, 'internal_error']);
    expect(body.detail).to.match(/outcome of the automatic top-up is unknown/);
    const claimed = () => service.sql(`SELECT status FROM topups WHERE kind = 'automatic'`);
    expect((await claimed()).map((topup) => topup.status)).to.deep.equal(['pending']);
    await makeTasksDue(service, 'topup.charge');
    const worker = await service.startWorker();
    await eventually('the top-up is credited', async () => (await claimed())[0]?.status === 'succeeded', 60_000);
    expect((await customer.ledger()).map(([type]) => type)).to.include('topup');
    await worker.stop();
  });
});
