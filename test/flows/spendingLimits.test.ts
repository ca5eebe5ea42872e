import { expect } from 'chai';
import { IMAGE, type TestCustomer, VIDEO } from '../harness/apiClient.ts';
import { refundGeneration } from '../../shared/domain/staff/generationActions.ts';
import { DAY_MS, HOUR_MS } from '../../shared/spec/durations.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { addKey, readUsed, setKeyLimit } from '../harness/spendingLimits.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const NOON = new Date(Date.UTC(new Date().getUTCFullYear() + 1, 4, 30, 12));

describe('the spending limit', () => {
  const service = useTestService({ clockOffsetMs: NOON.getTime() - Date.now() });
  beforeEach(async () => {
    Object.assign(service.upstream, { outcome: 'succeed', submit: undefined });
  });

  async function createLimited(credits: number, period: 'day' | 'month' | 'total' = 'day'): Promise<TestCustomer> {
    const customer = await service.createCustomer('studio');
    await setKeyLimit(service, customer, { credits, period });
    return customer;
  }

  async function moveClockTo(moment: Date): Promise<void> {
    await service.moveClockTo(moment);
    // The last probes are from before the move.
    await service.sql(`UPDATE upstream_health SET status = 'online', probed_at = $1`, [moment]);
  }

  /** Leaves an account this balance. */
  async function setBalance(customer: TestCustomer, credits: number): Promise<void> {
    service.fabricated.add('entries-name-their-cause');
    await service.sql(
      `WITH spent AS (
         UPDATE accounts SET balance = $2, plan_credits = $2, topup_credits = 0, ledger_count = ledger_count + 1
          WHERE email = $1 RETURNING id, ledger_count),
       before AS (SELECT balance FROM accounts WHERE email = $1)
       INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, created_at)
       SELECT id, ledger_count, 'expiry', $2 - before.balance, $2 - before.balance, $2, 'test', now() FROM spent, before`,
      [customer.email, credits],
    );
  }

  it('rejects a create that would exceed it with 402 spending_limit_reached, and charges nothing', async () => {
    const customer = await createLimited(20);
    await customer.createImage();
    await customer.createImage();
    const response = await customer.createGeneration(IMAGE);
    expectError(response, 'spending_limit_reached', 'is 20 credits per day: 16 are used, and this generation costs 8.');
    const { body } = await customer.requestWithSession('GET', '/api/keys/');
    expect(response.body.detail)
      .to.include('The limit resets at 20')
      .and.include('-05-31T00:00:00.000Z.')
      .and.include(
        `at ${service.baseUrl}/account/keys/${body.data[0].uuid}/ or with PATCH /api/keys/${body.data[0].uuid}/ and a new credit_limit.`,
      );
    expect(await customer.balance()).to.equal(3_000 - 16);
    expect(await readUsed(service, customer)).to.equal(16);
  });

  it('says that waiting does not help for a price above the whole limit', async () => {
    const customer = await createLimited(30, 'total');
    expectError(
      await customer.createGeneration(VIDEO),
      'spending_limit_reached',
      'is 30 credits in total: 0 are used, and this generation costs 35. It costs more than the whole limit, so waiting does not help.',
    );
    await customer.createImage();
    await customer.createImage();
    await customer.createImage();
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached', 'The limit does not reset.');
  });

  it('is returned by an estimate, and as the error of a tool over MCP', async () => {
    const customer = await createLimited(10, 'month');
    const estimate = () =>
      customer.request('POST', '/api/generations/estimate/', { body: { ...IMAGE, prompt: 'a lighthouse' } });
    expect((await estimate()).body.refusal).to.equal(null);
    await customer.createImage();
    const { body } = await estimate();
    expect(body.refusal.error).to.equal('spending_limit_reached');
    expect(body.refusal.detail).to.include('is 10 credits per month: 8 are used').and.include('-06-01T00:00:00.000Z.');
    const call = buildToolCall('generate_image', { prompt: 'a lighthouse', resolution: '1K' });
    const { result } = (await postMcp(customer, call, { headers: await openMcpSession(customer) })).body;
    expect([result.isError, result.structuredContent.error]).to.deep.equal([true, 'spending_limit_reached']);
    expect(result.content[0].text).to.include('The limit resets at').and.include('ask the user');
  });

  it('counts what the key created before it was set, also deleted generations', async () => {
    const customer = await service.createCustomer('studio');
    const { uuid } = await customer.createImage();
    await (await addKey(customer, 'other')).createImage();
    await customer.waitForEnd(uuid);
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    await customer.createImage();
    for (const period of ['day', 'month', 'total', 'day'] as const) {
      await setKeyLimit(service, customer, { credits: 20, period });
      expect(await readUsed(service, customer), period).to.equal(16);
    }
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached', '16 are used');
    await setKeyLimit(service, customer, { credits: 24, period: 'day' });
    await customer.createImage();
    await setKeyLimit(service, customer, null);
    await customer.createImage();
    await setKeyLimit(service, customer, { credits: 40, period: 'day' });
    expect(await readUsed(service, customer)).to.equal(32);
  });

  it('takes precedence over insufficient_credits, and yields to a full parallel limit and to a replay', async () => {
    const customer = await service.createCustomer('lite');
    service.upstream.outcome = 'wait';
    await setKeyLimit(service, customer, { credits: 16, period: 'day' });
    const send = () =>
      customer.request('POST', '/api/generations/create/', {
        body: { ...IMAGE, prompt: `once ${customer.email}` },
        headers: { 'idempotency-key': `limit-${customer.email}` },
      });
    const first = await send();
    await customer.createImage();
    expectError(await customer.createGeneration(IMAGE), 'parallel_limit_reached');
    const replay = await send();
    expect([replay.status, replay.body.uuid]).to.deep.equal([201, first.body.uuid]);
    service.upstream.end(first.body.prompt, 'succeeded');
    await customer.waitForEnd(first.body.uuid);
    // The balance of 184 credits covers it, and neither does after this one.
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached');
    await setBalance(customer, 4);
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached');
    await setKeyLimit(service, customer, null);
    expectError(await customer.createGeneration(IMAGE), 'insufficient_credits');
    expect((await send()).body.uuid).to.equal(first.body.uuid);
  });

  it('gets the credits of failed and refunded generations back', async () => {
    const customer = await createLimited(16);
    service.upstream.outcome = 'fail';
    await customer.waitForEnd((await customer.createImage()).uuid);
    expect(await readUsed(service, customer)).to.equal(0);
    service.upstream.outcome = 'succeed';
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    await customer.createImage();
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached');
    await refundGeneration(uuid, { kind: 'system', systemUser: 'test', reason: 'A blurred image' });
    expect(await readUsed(service, customer)).to.equal(8);
    await customer.createImage();
    await service.checkIntegrity();
  });

  it('starts again with the next window, and a refund returns to the window that paid', async () => {
    await moveClockTo(new Date(NOON.getTime() + 12 * HOUR_MS - 60_000));
    const customer = await createLimited(16);
    await customer.createImage();
    service.upstream.outcome = 'wait';
    const { uuid, prompt } = await customer.createImage();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached');
    // Shortly after midnight, and before the deadline of the queued one.
    await moveClockTo(new Date(NOON.getTime() + 12 * HOUR_MS + 60_000));
    const { body } = await customer.request('POST', '/api/generations/estimate/', {
      body: { ...IMAGE, prompt: 'a lighthouse' },
    });
    expect(body.refusal).to.equal(null);
    await customer.createImage();
    expect(await readUsed(service, customer)).to.equal(8);
    service.upstream.end(prompt, 'failed');
    expect((await customer.waitForEnd(uuid)).status).to.equal('failed');
    expect(await readUsed(service, customer)).to.equal(8);
    await customer.createImage();
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached', '16 are used');
    await service.checkIntegrity();
  });

  it('counts a generation that began before the window and is charged in it', async () => {
    const midnight = Math.ceil(service.now.getTime() / DAY_MS) * DAY_MS;
    const customer = await createLimited(16);
    await moveClockTo(new Date(midnight + 60_000));
    // Generations end before the clock moves back, or they would end before they began.
    await customer.waitForEnd((await customer.createImage()).uuid);
    // A request can be delayed by minutes where processes stand still.
    await moveClockTo(new Date(midnight - 10 * 60_000));
    await customer.createImage();
    expect(await readUsed(service, customer)).to.equal(16);
    expectError(await customer.createGeneration(IMAGE), 'spending_limit_reached', '16 are used');
    await service.checkIntegrity();
  });

  it('does not count the generations of a day before, in whichever order they were charged', async () => {
    const customer = await service.createCustomer('studio');
    const midnight = Math.ceil(service.now.getTime() / DAY_MS) * DAY_MS;
    await moveClockTo(new Date(midnight - 10_000));
    await customer.waitForEnd((await customer.createImage()).uuid);
    // Charged last, with a clock that is behind that of the first one.
    await moveClockTo(new Date(midnight - 20_000));
    await customer.createImage();
    await moveClockTo(new Date(midnight + HOUR_MS));
    await setKeyLimit(service, customer, { credits: 100, period: 'day' });
    expect(await readUsed(service, customer)).to.equal(0);
    await service.checkIntegrity();
    await customer.createImage();
    expect(await readUsed(service, customer)).to.equal(8);
  });
});
