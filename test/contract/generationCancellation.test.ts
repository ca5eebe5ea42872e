import { expect } from 'chai';
import type { ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { addTopupCredits, completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const cancel = (customer: TestCustomer, uuid: string): Promise<ApiResponse> =>
  customer.request('POST', `/api/generations/${uuid}/cancel/`);

async function readUsage(customer: TestCustomer): Promise<{ balance: number; inFlight: number }> {
  const { credits, jobs } = (await customer.request('GET', '/api/usage/summary/')).body;
  return { balance: credits.balance, inFlight: jobs.in_flight };
}

/** Changes columns of a queued generation as a worker would. */
async function updateQueued(service: TestService, uuid: string, assignments: string): Promise<void> {
  await service.sql(`UPDATE generations SET ${assignments} WHERE uuid = $1 AND status = 'queued'`, [uuid]);
}

describe('POST /api/generations/{uuid}/cancel/', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ apis: 2, workers: 0 });
    await setAllModelsOnline(service);
    customer = await service.createCustomer('studio');
  });
  after(() => service.stop());

  it('ends a generation that was not submitted with 200, refunds it in full and frees its slot', async () => {
    const before = await readUsage(customer);
    const queued = await customer.createVideo();
    const { status, body } = await cancel(customer, queued.uuid);
    expect(status).to.equal(200);
    expect(body).to.deep.include({ uuid: queued.uuid, status: 'failed', error_message: 'Canceled.', output_url: null });
    expect((await customer.readGeneration(queued.uuid)).body).to.deep.equal(body);
    expect(await readUsage(customer)).to.deep.equal(before);
    const [entry] = (await customer.request('GET', '/api/ledger/')).body.data;
    expect(entry).to.include({
      entry_type: 'refund',
      amount: 35,
      description: 'Refund: vidmodel-video generation canceled',
    });
  });

  it('returns a generation that has ended with 200, and changes nothing', async () => {
    const canceled = await customer.createImage();
    const first = await cancel(customer, canceled.uuid);
    const succeeded = await customer.createImage();
    await completeAllGenerations(service, customer);
    const [before, ledger] = [await readUsage(customer), await customer.ledger()];
    for (const attempt of [1, 2]) {
      const again = await cancel(customer, canceled.uuid);
      expect([again.status, again.body], String(attempt)).to.deep.equal([200, first.body]);
      const late = await cancel(customer, succeeded.uuid);
      expect([late.status, late.body.status], String(attempt)).to.deep.equal([200, 'succeeded']);
    }
    expect([await readUsage(customer), await customer.ledger()]).to.deep.equal([before, ledger]);
  });

  it('refunds a generation whose submit was not accepted and that waits for the next attempt', async () => {
    const { uuid } = await customer.createImage();
    await updateQueued(service, uuid, "leased_until = now() + interval '20 seconds', submit_started_at = NULL");
    const { status, body } = await cancel(customer, uuid);
    expect([status, body.error_message]).to.deep.equal([200, 'Canceled.']);
  });

  const SUBMITTED: [what: string, assignments: string][] = [
    ['is being submitted', "submit_started_at = now(), leased_until = now() + interval '20 seconds'"],
    ['may have been submitted by a worker that died', "submit_started_at = now() - interval '1 hour'"],
    ['has an unconfirmed submit', 'unconfirmed_submits = 1'],
    ['was accepted', `upstream = 'fal', upstream_model = 'a/b', upstream_handle = '{}', submitted_at = now()`],
  ];
  for (const [what, assignments] of SUBMITTED) {
    it(`returns 202 for a generation that ${what}, refunds nothing, and records the request once`, async () => {
      const { uuid } = await customer.createImage();
      await updateQueued(service, uuid, assignments);
      const before = await readUsage(customer);
      const { status, body } = await cancel(customer, uuid);
      expect([status, body.status, body.error_message]).to.deep.equal([202, 'queued', null]);
      const readRequest = () => service.sql('SELECT cancel_requested_at FROM generations WHERE uuid = $1', [uuid]);
      const [recorded] = await readRequest();
      expect(recorded.cancel_requested_at).to.be.instanceOf(Date);
      expect((await cancel(customer, uuid)).status).to.equal(202);
      expect(await readRequest()).to.deep.equal([recorded]);
      expect(await readUsage(customer)).to.deep.equal(before);
      await completeAllGenerations(service, customer);
    });
  }

  it('makes a submitted generation due, so that the sweep finds it if its job is lost', async () => {
    const { uuid } = await customer.createImage();
    await updateQueued(service, uuid, `upstream = 'fal', upstream_model = 'a/b', upstream_handle = '{}'`);
    await updateQueued(service, uuid, `next_attempt_at = now() + interval '1 hour', next_poll_at = now()`);
    await cancel(customer, uuid);
    const [row] = await service.sql(
      'SELECT next_attempt_at <= now() AS is_due, next_poll_at FROM generations WHERE uuid = $1',
      [uuid],
    );
    expect(row).to.deep.equal({ is_due: true, next_poll_at: null });
    await completeAllGenerations(service, customer);
  });

  it('returns 404 for a generation that was deleted, and changes nothing', async () => {
    const { uuid } = await customer.createImage();
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    expectError(await cancel(customer, uuid), 'not_found', 'no generation with that UUID');
    const [row] = await service.sql('SELECT status, cancel_requested_at FROM generations WHERE uuid = $1', [uuid]);
    expect(row).to.deep.equal({ status: 'queued', cancel_requested_at: null });
    await completeAllGenerations(service, customer);
  });

  it('refunds once if many clients cancel the same generation at the same moment', async () => {
    const before = await readUsage(customer);
    for (let round = 0; round < 5; round += 1) {
      const { uuid } = await customer.createImage();
      const clients = Array.from({ length: 20 }, (_, index) => customer.on(service.baseUrls[index % 2] as string));
      const responses = await Promise.all(clients.map((client) => cancel(client, uuid)));
      expect(new Set(responses.map(({ status, body }) => `${status} ${body.status}`))).to.deep.equal(
        new Set(['200 failed']),
      );
      const refunds = await service.sql(
        "SELECT 1 FROM ledger_entries WHERE generation_uuid = $1 AND entry_type = 'refund'",
        [uuid],
      );
      expect(refunds).to.have.length(1);
    }
    expect(await readUsage(customer)).to.deep.equal(before);
  });

  it('records generation.failed once, if the account has a webhook endpoint', async () => {
    const owner = await service.createCustomer('pro');
    await owner.request('POST', '/api/webhooks/create/', { body: { url: 'https://example.com/webhooks' } });
    const { uuid } = await owner.createImage();
    await Promise.all([cancel(owner, uuid), cancel(owner, uuid)]);
    const events = await service.sql("SELECT type FROM outbox_events WHERE subject = $1 AND type LIKE 'generation.%'", [
      uuid,
    ]);
    expect(events).to.deep.equal([{ type: 'generation.failed' }]);
  });

  it('returns the credits to the buckets that paid', async () => {
    const owner = await service.createCustomer('lite');
    for (const createNext of [...Array.from({ length: 5 }, () => 'createVideo' as const), 'createImage' as const]) {
      await owner[createNext]();
      await completeAllGenerations(service, owner);
    }
    await Promise.all([owner.createImage(), owner.createImage()]);
    await completeAllGenerations(service, owner);
    // 1 credit of the plan is left.
    await addTopupCredits(service, owner, 10);
    const readBuckets = () =>
      service.sql('SELECT plan_credits, topup_credits FROM accounts WHERE email = $1', [owner.email]);
    const before = await readBuckets();
    const { uuid } = await owner.createImage();
    expect([before, await readBuckets()]).to.deep.equal([
      [{ plan_credits: 1, topup_credits: 10 }],
      [{ plan_credits: 0, topup_credits: 3 }],
    ]);
    await cancel(owner, uuid);
    expect(await readBuckets()).to.deep.equal(before);
  });
});
