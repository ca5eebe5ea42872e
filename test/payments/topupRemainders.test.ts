import { expect } from 'chai';
import { eraseAccount } from '../../shared/domain/privacy/erase.ts';
import { postCreditAdjustment } from '../../shared/domain/adjustments/creditAdjustments.ts';
import type { Actor } from '../../shared/domain/audit/recordAuditEntry.ts';
import { refundGeneration } from '../../shared/domain/staff/generationActions.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { seedImages } from '../harness/seeds.ts';
import { eventually } from '../harness/testService.ts';
import { findTopups } from '../harness/topupInvoices.ts';

const ACTOR: Actor = { kind: 'system', systemUser: 'test', reason: 'test' };
/** Credits of a month and of a top-up of $50 on the Lite plan. */
const MONTH = 200;
const TOPUP = 1_666;
const VIDEO_CREDITS = 35;
const MINUTE_MS = 60_000;

describe('what is left of each top-up', () => {
  let billing: BillingService;
  let customer: TestCustomer;
  before(async () => {
    billing = await startBillingService();
  });
  beforeEach(async () => {
    billing.service.upstream.reset();
    customer = billing.onFirstApi(await billing.createCustomer('lite'));
    // Plan credits are spent first.
    await seedImages(billing.service, customer, MONTH);
  });
  afterEach(async () => {
    await billing.service.checkIntegrity();
    billing.stripe.reset();
  });
  after(() => billing.stop());

  const findAccount = async () =>
    (await billing.service.sql('SELECT * FROM accounts WHERE email = $1', [customer.email]))[0];
  /** Buys credits. @returns the payment. */
  const buy = async (): Promise<string> => {
    await billing.topUp(customer, 5_000);
    return (await findTopups(billing, customer)).at(-1).stripe_payment_intent_id;
  };
  const spend = (credits: number) => seedImages(billing.service, customer, credits);
  const adjust = async (credits: number) => {
    const { id, ledger_count: count } = await findAccount();
    const accountId = Number(id);
    await postCreditAdjustment({ accountId, credits, requestName: `T-${accountId}-${count}`, note: '' }, ACTOR);
  };
  const refund = async (payment: string, cents?: number) => {
    billing.stripe.refund(payment, cents);
    await billing.drained();
  };
  const openDispute = async (payment: string) => {
    billing.stripe.openDispute(payment);
    await billing.drained();
  };
  const closeDispute = async (payment: string, outcome: 'won' | 'lost') => {
    billing.stripe.closeDispute(payment, outcome);
    await billing.drained();
  };
  /** Remainders of the top-ups, oldest first. */
  const left = async (): Promise<number[]> => {
    const { id } = await findAccount();
    const rows = await billing.service.sql('SELECT remainder FROM topup_remainders($1) ORDER BY number', [id]);
    return rows.map(({ remainder }) => remainder);
  };
  const owed = async (): Promise<number[]> =>
    (await findTopups(billing, customer)).map(({ credits_owed: credits }) => credits);
  /** Creates videos that run until they are ended. @returns their prompts. */
  const startVideos = async (count: number): Promise<string[]> => {
    billing.service.upstream.outcome = 'wait';
    const prompts: string[] = [];
    for (let index = 0; index < count; index += 1) prompts.push((await customer.createVideo()).prompt);
    return prompts;
  };
  const failVideos = async (prompts: string[]) => {
    for (const prompt of prompts) billing.service.upstream.end(prompt, 'failed');
    await eventually('they have ended', async () => (await findAccount()).in_flight === 0);
  };

  it('is not taken for a spent one that is refunded later, and neither are credits given by staff', async () => {
    const first = await buy();
    await spend(TOPUP);
    await buy();
    await adjust(500);
    expect(await left()).to.deep.equal([0, TOPUP]);
    await refund(first);
    expect(await customer.balance()).to.equal(TOPUP + 500);
    expect(await left()).to.deep.equal([0, TOPUP]);
  });

  it('is all that a refund takes, whatever was bought and given before and after it', async () => {
    await adjust(100);
    const first = await buy();
    await buy();
    await adjust(50);
    await spend(500);
    expect(await left()).to.deep.equal([TOPUP - 400, TOPUP]);
    await refund(first);
    expect(await customer.balance()).to.equal(TOPUP + 50);
    expect(await left()).to.deep.equal([0, TOPUP]);
  });

  it('is taken by each half of a refund as far as it goes', async () => {
    const payment = await buy();
    await buy();
    await spend(1_000);
    await refund(payment, 2_500);
    expect(await customer.balance()).to.equal(TOPUP);
    await refund(payment, 2_500);
    expect(await customer.balance()).to.equal(TOPUP);
    expect(await left()).to.deep.equal([0, TOPUP]);
    expect(await owed()).to.deep.equal([1_000, 0]);
  });

  it('follows a dispute that is opened, won, opened again and lost', async () => {
    const payment = await buy();
    await spend(66);
    for (const outcome of ['won', 'lost'] as const) {
      await openDispute(payment);
      expect([await customer.balance(), ...(await left())]).to.deep.equal([0, 0]);
      await closeDispute(payment, outcome);
      expect(await customer.balance()).to.equal(outcome === 'won' ? TOPUP - 66 : 0);
    }
    const entries = await customer.ledger();
    expect(entries.filter(([type]) => type === 'expiry' || type === 'grant').slice(1)).to.deep.equal([
      ['expiry', 66 - TOPUP],
      ['grant', TOPUP - 66],
      ['expiry', 66 - TOPUP],
    ]);
  });

  it('is the oldest first when staff remove credits', async () => {
    await buy();
    const second = await buy();
    await adjust(-1_000);
    expect(await left()).to.deep.equal([TOPUP - 1_000, TOPUP]);
    await refund(second);
    expect(await customer.balance()).to.equal(TOPUP - 1_000);
  });

  it('is not what staff give by mistake and remove, the newest first', async () => {
    await adjust(100);
    const first = await buy();
    await adjust(50);
    const second = await buy();
    await adjust(TOPUP);
    await spend(200);
    await adjust(-TOPUP - 50);
    expect([await customer.balance(), ...(await left())]).to.deep.equal([2 * TOPUP - 100, TOPUP - 100, TOPUP]);
    await adjust(-10);
    await adjust(10);
    expect(await left()).to.deep.equal([TOPUP - 110, TOPUP]);
    await refund(first);
    expect([await customer.balance(), ...(await left())]).to.deep.equal([TOPUP + 10, 0, TOPUP]);
    await refund(second);
    expect(await customer.balance()).to.equal(10);
  });

  it('is nothing after a return in full, although generations that were in progress are refunded', async () => {
    const payment = await buy();
    const prompts = await startVideos(2);
    await refund(payment);
    expect(await customer.balance()).to.equal(0);
    expect(await owed()).to.deep.equal([2 * VIDEO_CREDITS]);
    await failVideos(prompts);
    expect(await customer.balance()).to.equal(0);
    expect(await owed()).to.deep.equal([0]);
    const entries = await customer.ledger();
    await runJob(billing, 'billing', 'payments.reconcile');
    expect(await customer.ledger()).to.deep.equal(entries);
  });

  it('is nothing after a return in full, although its owner cancels and staff refund generations', async () => {
    const payment = await buy();
    const { uuid } = await customer.createVideo();
    await customer.waitForEnd(uuid);
    Object.assign(billing.service.upstream, { outcome: 'wait', isQueueing: true });
    const canceled = await customer.createVideo();
    await refund(payment);
    expect(await owed()).to.deep.equal([2 * VIDEO_CREDITS]);
    expect((await customer.request('POST', `/api/generations/${canceled.uuid}/cancel/`)).status).to.be.below(300);
    await eventually('it has ended', async () => (await findAccount()).in_flight === 0);
    expect(await owed()).to.deep.equal([VIDEO_CREDITS]);
    expect(await refundGeneration(uuid, ACTOR)).to.equal(true);
    expect([await customer.balance(), ...(await owed())]).to.deep.equal([0, 0]);
  });

  it('settles what several returned top-ups owe, and keeps the one that was not returned whole', async () => {
    const payments = [await buy(), await buy()];
    await spend(TOPUP - VIDEO_CREDITS);
    const prompts = await startVideos(2);
    expect(await left()).to.deep.equal([0, TOPUP - VIDEO_CREDITS]);
    await buy();
    for (const payment of payments) await refund(payment);
    expect(await customer.balance()).to.equal(TOPUP);
    expect(await owed()).to.deep.equal([TOPUP, VIDEO_CREDITS, 0]);
    await failVideos(prompts);
    expect(await customer.balance()).to.equal(TOPUP);
    expect(await owed()).to.deep.equal([TOPUP - VIDEO_CREDITS, 0, 0]);
    expect(await left()).to.deep.equal([0, 0, TOPUP]);
  });

  it('is shown on the page of the customer', async () => {
    await buy();
    await spend(100);
    const { text } = await createBrowserFor(customer).request(`${billing.service.baseUrl}/account/billing/`);
    expect(text).to.include('1,666 credits<span class="hint">Top-up, 1,566 left</span>');
  });
});

describe('a top-up that is paid for an erased account', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService();
  });
  after(() => billing.stop());

  it('is credited and refunded by the sweep', async () => {
    const customer = await billing.createCustomer('lite');
    const { uuid: generation } = await customer.createImage();
    await customer.waitForEnd(generation);
    const { body } = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    billing.stripe.cancelAtPeriodEnd(billing.customerId(customer));
    await billing.drained();
    const [{ id }] = await billing.service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]);
    await eraseAccount(id);
    await billing.advanceTo(new Date(billing.service.now.getTime() + 10 * MINUTE_MS));
    billing.stripe.completeCheckout(body.checkout_url);
    await billing.drained();
    const find = async () =>
      (
        await billing.service.sql(
          `SELECT t.status, t.credits, t.credits_reversed, r.cause, r.status AS refund FROM topups t
             LEFT JOIN owed_refunds r ON r.topup_uuid = t.uuid WHERE t.account_id = $1`,
          [id],
        )
      )[0];
    expect(await find()).to.include({ status: 'succeeded', credits: TOPUP, cause: 'erased' });
    await billing.service.checkIntegrity();
    await billing.maintain();
    await billing.drained();
    expect(await find()).to.include({ credits_reversed: TOPUP, refund: 'refunded' });
    const charges = billing.stripe.store.list('charge').filter(({ amount }) => amount === 5_000);
    expect(charges.map(({ amount_refunded: cents }) => cents)).to.deep.equal([5_000]);
    await expectRejection(refundGeneration(generation, ACTOR), /The account is erased/);
  });
});
