import { expect } from 'chai';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { type ApiResponse, IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, startTestService, type TestService, useTestService } from '../harness/testService.ts';

const cancel = (customer: TestCustomer, uuid: string): Promise<ApiResponse> =>
  customer.request('POST', `/api/generations/${uuid}/cancel/`);

async function countRefunds(service: TestService, uuid: string): Promise<number> {
  const refunds = await service.sql(
    "SELECT 1 FROM ledger_entries WHERE generation_uuid = $1 AND entry_type = 'refund'",
    [uuid],
  );
  return refunds.length;
}

/**
 * Changes that a worker commits while the cancellation waits: columns before, the change, and the expected response.
 */
const CHANGES: [what: string, before: string, change: string, status: number, refunds: number][] = [
  [
    'a claim',
    'submit_started_at = NULL',
    "submit_started_at = now(), leased_until = now() + interval '20 seconds'",
    202,
    0,
  ],
  [
    'an accepted submission',
    'submit_started_at = now()',
    `submit_started_at = NULL, upstream = 'fal', upstream_model = 'a/b', upstream_handle = '{}'`,
    202,
    0,
  ],
  ['a claim after an unconfirmed submit', 'submit_started_at = NULL', 'unconfirmed_submits = 1', 202, 0],
  ['a submission that was not accepted', 'submit_started_at = now()', 'submit_started_at = NULL', 200, 1],
  [
    'a success',
    'submit_started_at = now()',
    "status = 'succeeded', completed_at = now(), output_path = 'a.png', submit_started_at = NULL",
    200,
    0,
  ],
];

describe('a cancellation that waits for a transaction', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  before(async () => {
    await setAllModelsOnline(service);
    customer = await service.createCustomer('studio');
  });
  afterEach(async () => {
    await completeAllGenerations(service, customer);
    // The success above does not free its slot.
    await service.sql('UPDATE accounts SET in_flight = 0 WHERE email = $1', [customer.email]);
  });

  for (const [what, before, change, status, refunds] of CHANGES) {
    for (const lock of ['generation', 'account'] as const) {
      it(`on the ${lock} decides by ${what} that commits meanwhile`, async () => {
        const { uuid } = await customer.createImage();
        await service.sql(`UPDATE generations SET ${before} WHERE uuid = $1`, [uuid]);
        const client = await service.database.connect();
        await client.query('BEGIN');
        if (lock === 'generation') await client.query(`UPDATE generations SET ${change} WHERE uuid = $1`, [uuid]);
        else await client.query('SELECT FROM accounts WHERE email = $1 FOR NO KEY UPDATE', [customer.email]);
        const response = cancel(customer, uuid);
        await eventually('the cancellation waits', async () => (await service.countLockWaits()) === 1);
        if (lock === 'account') await service.sql(`UPDATE generations SET ${change} WHERE uuid = $1`, [uuid]);
        await client.query('COMMIT');
        client.release();
        expect((await response).status).to.equal(status);
        expect(await countRefunds(service, uuid)).to.equal(refunds);
      });
    }
  }
});

describe('while the database fails', () => {
  let service: TestService;
  let proxy: FaultProxy;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ workers: 0 });
    await setAllModelsOnline(service);
    proxy = await new FaultProxy(service.env['DATABASE_URL'] as string).start();
    const { baseUrl } = await service.startApi({ DATABASE_URL: proxy.url, DATABASE_TIMEOUT_MS: '1500' });
    customer = (await service.createCustomer('studio')).on(baseUrl);
  });
  after(async () => {
    await service.stop();
    await proxy.stop();
  });
  afterEach(() => proxy.open());

  it('a cancellation whose response is lost has refunded once, and its repeat says so', async () => {
    const balance = await customer.balance();
    const { uuid } = await customer.createImage();
    let cuts = 0;
    proxy.cutReplies((chunk) => {
      if (!chunk.includes('has_ended')) return false;
      cuts += 1;
      return true;
    });
    const lost = await cancel(customer, uuid);
    expect([lost.status, lost.body.error, cuts]).to.deep.equal([503, 'internal_error', 1]);
    proxy.open();
    const again = await cancel(customer, uuid);
    expect([again.status, again.body.error_message]).to.deep.equal([200, 'Canceled.']);
    expect([await countRefunds(service, uuid), await customer.balance()]).to.deep.equal([1, balance]);
  });

  for (const fault of ['freeze', 'refuse'] as const) {
    it(`estimates and cancellations are 503 within 5 seconds (${fault})`, async () => {
      const { uuid } = await customer.createImage();
      proxy[fault]();
      const startedAt = performance.now();
      const responses = await Promise.all([
        customer.request('POST', '/api/generations/estimate/', { body: { ...IMAGE, prompt: 'a' } }),
        cancel(customer, uuid),
      ]);
      expect(performance.now() - startedAt).to.be.below(5_000);
      for (const { status, body, headers } of responses) {
        expect([status, body.error]).to.deep.equal([503, 'internal_error']);
        expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
      }
    });
  }
});
