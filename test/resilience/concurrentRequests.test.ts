import { expect } from 'chai';
import pLimit from 'p-limit';
import { type ApiResponse, type TestCustomer, IMAGE, VIDEO } from '../harness/apiClient.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

describe('simultaneous requests through several processes', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ apis: 3 });
    service.upstream.outcome = 'wait';
  });
  after(async () => {
    await service.stop();
  });

  function everywhere(
    customer: TestCustomer,
    count: number,
    call: (customer: TestCustomer) => Promise<ApiResponse>,
  ): Promise<ApiResponse[]> {
    const ways = service.baseUrls.map((baseUrl) => customer.on(baseUrl));
    return Promise.all(Array.from({ length: count }, (_, index) => call(ways[index % ways.length] as TestCustomer)));
  }

  it("never exceed the plan's parallel limit", async () => {
    const customer = await service.createCustomer('pro');
    const responses = await everywhere(customer, 60, (way) => way.createGeneration(IMAGE));
    expect(tally(responses)).to.deep.equal({ 201: 5, 'parallel_limit_reached 409': 55 });
    expect(await customer.balance()).to.equal(1100 - 5 * 8);
  });

  it('never spend more than the balance', async () => {
    const customer = await service.createCustomer('studio');
    service.fabricated.add('entries-name-their-cause');
    // 100 credits are left: enough for two videos and up to three images.
    await service.sql(
      `WITH spent AS (
         UPDATE accounts SET balance = 100, plan_credits = 100, ledger_count = ledger_count + 1
          WHERE email = $1 RETURNING id, ledger_count)
       INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, created_at)
       SELECT id, ledger_count, 'expiry', -2900, -2900, 100, 'test', now() FROM spent`,
      [customer.email],
    );
    const responses = await everywhere(customer, 30, (way) => way.createGeneration(VIDEO));
    expect(tally(responses)).to.deep.equal({ 201: 2, 'insufficient_credits 402': 28 });
    expect(await customer.balance()).to.equal(30);
  });

  it('free exactly one slot when a generation has ended', async () => {
    const customer = await service.createCustomer('lite');
    const { prompt } = await customer.createImage();
    await customer.createImage();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    service.upstream.end(prompt, 'failed');
    await eventually('refunded', async () => (await customer.balance()) === 200 - 8);
    const responses = await everywhere(customer, 20, (way) => way.createGeneration(IMAGE));
    expect(tally(responses)).to.deep.equal({ 201: 1, 'parallel_limit_reached 409': 19 });
  });

  it('delete a generation only once', async () => {
    const customer = await service.createCustomer('pro');
    const { uuid } = await customer.createImage();
    const responses = await everywhere(customer, 20, (way) => way.request('DELETE', `/api/generations/${uuid}/`));
    expect(tally(responses)).to.deep.equal({ 204: 1, 'not_found 404': 19 });
    expect((await customer.request('GET', '/api/generations/')).body.pagination.total_items).to.equal(0);
  });

  it('of many accounts are each charged to their own account', async () => {
    // 30 sign-ins at once take longer than a request may wait for the database, on a busy machine.
    const setUp = pLimit(6);
    const customers = await Promise.all(
      Array.from({ length: 30 }, () => setUp(() => service.createCustomer('starter'))),
    );
    const responses = await Promise.all(
      customers.map((customer) => everywhere(customer, 4, (way) => way.createGeneration(IMAGE))),
    );
    for (const [index, customer] of customers.entries()) {
      expect(tally(responses[index] as ApiResponse[])).to.deep.equal({ 201: 3, 'parallel_limit_reached 409': 1 });
      expect(await customer.ledger()).to.deep.equal([
        ['grant', 400],
        ['burn', -8],
        ['burn', -8],
        ['burn', -8],
      ]);
    }
  });
});

function tally(responses: ApiResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of responses) {
    const name = body?.error === undefined ? String(status) : `${body.error} ${status}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
