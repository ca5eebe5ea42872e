import { expect } from 'chai';
import { changeTopupSettings, enableAutoTopups } from '../harness/autoTopups.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { getId } from '../fakes/stripe/store.ts';
import { makeTasksDue, readTasks } from '../harness/tasks.ts';
import { findTopups } from '../harness/topupInvoices.ts';

const DAY_MS = 86_400_000;

describe('top-ups with reversals and failures', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  const last = async () => (await billing.service.sql('SELECT * FROM topups ORDER BY created_at DESC LIMIT 1'))[0];
  /** Waits until Stripe's library has retried the call once and given up. */
  const triedTwice = async (customer: TestCustomer) => {
    await eventually('begun', async () => (await findTopups(billing, customer)).length === 1);
    const [{ uuid }] = await findTopups(billing, customer);
    await eventually('tried twice', async () => {
      const tries = billing.stripe.requests.filter(({ idempotencyKey }) => idempotencyKey === `topup-${uuid}`);
      return tries.length === 2;
    });
  };
  /** Spends top-up credits without creating generations. */
  const spend = async (customer: TestCustomer, credits: number) => {
    billing.service.fabricated.add('entries-name-their-cause').add('entry-signs-match-their-type');
    await billing.service.sql(
      `WITH a AS (
         UPDATE accounts SET balance = balance - $2, topup_credits = topup_credits - $2, ledger_count = ledger_count + 1
          WHERE email = $1 RETURNING id, ledger_count, balance
       )
       INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, created_at)
       SELECT id, ledger_count, 'expiry', -$2, 0, balance, 'spent', now() FROM a`,
      [customer.email, credits],
    );
  };
  const lookAgain = async () => {
    await makeTasksDue(billing.service, 'topup.charge', 'topup.page');
    await billing.maintain();
  };

  it('take credits back once for a refund, despite later purchases and syncs', async () => {
    const customer = await billing.createCustomer('pro');
    await billing.topUp(customer, 5_000);
    const { stripe_payment_intent_id: intentId } = await last();
    // All but 96 credits are spent.
    await spend(customer, 1_800);
    billing.stripe.refund(intentId);
    await billing.drained();
    expect(await customer.balance()).to.equal(1100);
    await billing.topUp(customer, 5_000);
    await runJob(billing, 'billing', 'payments.reconcile');
    await eventually('synced', async () => {
      const [{ waiting }] = await billing.service.sql(
        'SELECT count(*)::int AS waiting FROM topups WHERE sync_version < (SELECT last_value - 20 FROM sync_versions)',
      );
      return waiting === 0;
    });
    expect(await customer.balance()).to.equal(1100 + 1896);
  });

  it('stay open after a declined card, and are paid with another one', async () => {
    const customer = await billing.createCustomer('pro');
    const page = await billing.openTopup(customer);
    billing.stripe.completeCheckout(page, { declined: true });
    await billing.drained();
    expect(await last()).to.include({ status: 'pending', failure_code: null });
    billing.stripe.delivery.drop = 1;
    billing.stripe.completeCheckout(page);
    await lookAgain();
    await eventually('credited', async () => (await customer.balance()) === 1100 + 1896);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('are synced with back-off, and fail when their page has expired', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.completeCheckout(await billing.openTopup(customer), { declined: true });
    await billing.drained();
    await billing.service.sql(
      `UPDATE topups SET created_at = created_at - interval '2 hours' WHERE status = 'pending'`,
    );
    await lookAgain();
    const [{ uuid }] = await billing.service.sql(`SELECT uuid FROM topups WHERE status = 'pending'`);
    const row = async () => (await billing.service.sql('SELECT * FROM topups WHERE uuid = $1', [uuid]))[0];
    const task = async () => (await readTasks(billing.service, 'topup.page')).find(({ key }) => key === uuid);
    await eventually('put off', async () => (await task()).run_at.getTime() > Date.now() + 20 * 60_000);
    await billing.advanceTo(new Date(Date.now() + 2 * DAY_MS));
    await lookAgain();
    await eventually('ended', async () => (await row()).status === 'failed');
    expect(await row()).to.include({ failure_code: 'canceled' });
  });

  for (const outcome of ['succeeded', 'failed'] as const) {
    it(`wait for the verification of a bank account, and for the bank after that (${outcome})`, async () => {
      const customer = billing.onFirstApi(await billing.createCustomer('pro'));
      const page = await billing.openTopup(customer);
      billing.stripe.completeCheckout(page, { unverified: true });
      await billing.drained();
      await lookAgain();
      expect(await last()).to.include({ status: 'pending', failure_code: null });
      billing.stripe.verifyAccount(page);
      await lookAgain();
      expect(await last()).to.include({ status: 'pending', failure_code: null });
      billing.stripe.settlePayment(page, outcome);
      await billing.drained();
      await lookAgain();
      expect(await last()).to.include({ status: outcome });
      expect(await customer.balance()).to.equal(outcome === 'succeeded' ? 1100 + 1896 : 1100);
    });
  }

  it('stay failed while a bank processes what was paid after that, and are credited once it is paid', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    const page = await billing.openTopup(customer);
    billing.stripe.store.get('checkout.session', page.split('/').at(-1)).status = 'expired';
    await lookAgain();
    expect(await last()).to.include({ status: 'failed', failure_code: 'canceled' });
    billing.stripe.reopenCheckout(page);
    billing.stripe.completeCheckout(page, { async: true });
    await billing.drained();
    expect(await last()).to.include({ status: 'failed', failure_code: 'canceled' });
    billing.stripe.settlePayment(page, 'succeeded');
    await billing.drained();
    expect(await last()).to.include({ status: 'succeeded', failure_code: null });
    expect(await customer.balance()).to.equal(1100 + 1896);
  });

  it('fail when the bank declines after days, and no longer count as open', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    const page = await billing.openTopup(customer);
    billing.stripe.completeCheckout(page, { async: true });
    billing.stripe.settlePayment(page, 'failed');
    await billing.drained();
    await lookAgain();
    await eventually('ended', async () => {
      const rows = await billing.service.sql(`SELECT 1 FROM topups WHERE status = 'pending'`);
      return rows.length === 0;
    });
    const ended = await last();
    expect(ended).to.include({ status: 'failed', failure_code: 'canceled' });
    await runJob(billing, 'billing', 'payments.reconcile');
    const synced = await last();
    expect(Number(synced.sync_version)).to.be.above(Number(ended.sync_version));
    expect(synced).to.include({ status: 'failed', failure_code: 'canceled' });
    expect(synced.completed_at).to.deep.equal(ended.completed_at);
  });

  it('return no more credits for a won dispute than were taken back', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('lite'));
    await billing.topUp(customer, 5_000);
    const { stripe_payment_intent_id: intentId } = await last();
    await spend(customer, 640);
    billing.stripe.refund(intentId, 2_500);
    await billing.drained();
    expect(await customer.balance()).to.equal(200 + 1666 - 640 - 833);
    const dispute = billing.stripe.openDispute(intentId, { amountCents: 2_500 });
    await billing.drained();
    expect(await customer.balance()).to.equal(200);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    expect(await customer.balance()).to.equal(200 + 1666 - 640 - 833);
  });

  it('are limited per account: 429 with the time until the oldest page expires, after 402', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    const topUp = () => customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    for (let index = 0; index < 10; index += 1) await billing.openTopup(customer);
    const refused = await topUp();
    expect([refused.status, refused.body.error]).to.deep.equal([429, 'rate_limited']);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).to.be.within(80_000, 86_400);
    expect(refused.body.detail).to.include(`${seconds} s`);
    expect(await findTopups(billing, customer), 'a refused one leaves no row').to.have.length(10);

    const [{ spendable_until: until }] = await billing.service.sql(
      'UPDATE accounts SET spendable_until = now() FROM accounts old WHERE old.id = accounts.id AND accounts.email = $1 RETURNING old.spendable_until',
      [customer.email],
    );
    const unsubscribed = await topUp();
    expect([unsubscribed.status, unsubscribed.body.error]).to.deep.equal([402, 'subscription_required']);
    await billing.service.sql('UPDATE accounts SET spendable_until = $2 WHERE email = $1', [customer.email, until]);
  });

  it('do not count as open if their page could not be opened', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    const topUp = () => customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    billing.stripe.faults['checkout.create'] = 'error';
    const responses = await Promise.all(Array.from({ length: 11 }, topUp));
    expect(responses.map(({ status }) => status)).to.have.members([429, ...Array<number>(10).fill(503)]);
    const limited = responses.find(({ status }) => status === 429);
    expect(Number(limited?.headers.get('retry-after'))).to.be.within(1, 60);
    delete billing.stripe.faults['checkout.create'];
    await billing.service.sql(
      `UPDATE topups SET created_at = created_at - interval '61 seconds' WHERE stripe_session_id IS NULL AND kind = 'manual'`,
    );
    expect((await topUp()).status).to.equal(200);
  });

  it('are not credited and not synced forever if they are paid with another amount', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    const page = await billing.openTopup(customer);
    const row = async () => (await findTopups(billing, customer))[0];
    billing.stripe.delivery.pause = true;
    billing.stripe.completeCheckout(page);
    const session = billing.stripe.store.get('checkout.session', page.split('/').at(-1));
    const intent = billing.stripe.store.get('payment_intent', getId(session.payment_intent));
    intent.amount_received = 4_000;
    billing.stripe.delivery.pause = false;
    await billing.drained();
    expect(await row()).to.include({ status: 'failed', failure_code: 'amount_mismatch' });
    expect(await customer.balance()).to.equal(1100);
    intent.amount_received = 5_000;
    await runJob(billing, 'billing', 'payments.reconcile');
    expect(await customer.balance()).to.equal(1100 + 1896);
  });

  it('are credited if they were charged without a response, although they were switched off and the card was removed', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('pro'));
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 5_000 });
    billing.stripe.delivery.drop = 1;
    billing.stripe.faults['intents.create'] = 'drop after doing';
    await customer.createImage();
    await triedTwice(customer);
    await changeTopupSettings(customer, { auto_topup_enabled: false });
    delete billing.stripe.faults['intents.create'];
    const { customers } = billing.stripe.summarize();
    billing.stripe.removePaymentMethod(customers.find(({ email }) => email === customer.email)?.customerId as string);
    await lookAgain();
    await eventually('credited', async () => (await customer.balance()) === 1100 - 8 + 1896);
    billing.stripe.delivery.dropped.length = 0;
  });
});
