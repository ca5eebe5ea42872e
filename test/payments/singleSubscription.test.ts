import { expect } from 'chai';
import type Stripe from 'stripe';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { getId } from '../fakes/stripe/store.ts';
import { readTasks } from '../harness/tasks.ts';
import { DAY_MS, HOUR_MS } from '../../shared/spec/durations.ts';

describe('the one subscription of an account', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService({ workers: 2 });
  });
  afterEach(() => billing.stripe.reset());
  after(() => billing.stop());

  const listSubscriptions = (customer: TestCustomer) =>
    billing.service.sql(
      `SELECT s.* FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 ORDER BY s.id`,
      [customer.email],
    );

  /** Opens checkout pages for two plans and keeps both open, as if they were opened at the same moment. */
  const twoPages = async (customer: TestCustomer): Promise<[string, string]> => {
    const pages: [string, string] = [
      await billing.openCheckout(customer, 'pro'),
      await billing.openCheckout(customer, 'lite'),
    ];
    billing.stripe.reopenCheckout(pages[0]);
    return pages;
  };

  it('stays when a second one is paid, which is refunded and ended', async () => {
    const customer = await billing.createCustomer(null);
    const [first, second] = await twoPages(customer);
    billing.stripe.completeCheckout(first, { async: true });
    await billing.drained();
    const [begun] = await listSubscriptions(customer);
    expect(begun).to.include({ status: 'incomplete' });
    billing.stripe.completeCheckout(second);
    await billing.drained();
    expect(await customer.balance()).to.equal(200);
    billing.stripe.settlePayment(first, 'succeeded');
    await billing.drained();
    const ended = () => billing.stripe.findSubscription(begun.stripe_subscription_id).status === 'canceled';
    await eventually('the second is ended', async () => ended());
    await eventually('its refund is made', () => billing.stripe.store.list('refund').length > 0);
    await billing.drained();
    const invoice = getId(billing.stripe.findSubscription(begun.stripe_subscription_id).latest_invoice);
    const [refund] = billing.stripe.store.list('refund');
    const payment = billing.stripe.store.list('invoice_payment').find((entry) => getId(entry.invoice) === invoice);
    expect(refund).to.include({ amount: 34_800, payment_intent: payment?.payment.payment_intent });
    expect(await customer.balance()).to.equal(200);
    expect(await getBillingStatus(customer)).to.deep.include({
      status: 'active',
      plan: { slug: 'lite', name: 'Lite', parallel_limit: 2 },
    });
  });

  for (const isVerified of [true, false]) {
    it(`cannot be bought while ${isVerified ? 'the payment' : 'the verification of the bank account'} of another one is processing`, async () => {
      const customer = await billing.createCustomer(null);
      const page = await billing.openCheckout(customer, 'pro');
      billing.stripe.completeCheckout(page, isVerified ? { async: true } : { unverified: true });
      await billing.drained();
      const refused = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
      expect([refused.status, refused.body.error]).to.deep.equal([400, 'validation_error']);
      expect(refused.body.detail).to.match(/Pro plan is still being processed/);
      if (!isVerified) billing.stripe.verifyAccount(page);
      billing.stripe.settlePayment(page, 'failed');
      await billing.drained();
      billing.stripe.completeCheckout(await billing.openCheckout(customer, 'lite'));
      await billing.drained();
      expect(await customer.balance()).to.equal(200);
      billing.stripe.cancelNow((await listSubscriptions(customer))[0].stripe_subscription_id);
      await billing.drained();
      expect(await customer.balance()).to.equal(200);
    });
  }

  it('is not paid twice when the event of the first payment was lost', async () => {
    const customer = await billing.createCustomer(null);
    billing.stripe.delivery.drop = 1;
    billing.stripe.completeCheckout(await billing.openCheckout(customer, 'pro'));
    const again = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    expect([again.status, again.body.error]).to.deep.equal([400, 'validation_error']);
    expect(await customer.balance()).to.equal(1100);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('cannot be bought a second time while the paid one cannot be synced', async () => {
    const customer = await billing.createCustomer(null);
    billing.stripe.delivery.drop = 1;
    billing.stripe.completeCheckout(await billing.openCheckout(customer, 'pro'));
    billing.stripe.faults['subscriptions.retrieve'] = 'error';
    const { requests } = billing.stripe;
    const pages = () => requests.filter(({ name }) => name === 'checkout.create').length;
    const before = pages();
    const unavailable = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    expect([unavailable.status, unavailable.body.error]).to.deep.equal([503, 'internal_error']);
    expect(pages()).to.equal(before);
    delete billing.stripe.faults['subscriptions.retrieve'];
    const again = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    expect([again.status, again.body.error]).to.deep.equal([400, 'validation_error']);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('keeps its credits when an earlier one ends', async () => {
    const customer = await billing.createCustomer(null);
    const [page, laterPage] = await twoPages(customer);
    billing.stripe.completeCheckout(page);
    await billing.drained();
    const [{ stripe_subscription_id: first }] = await listSubscriptions(customer);
    const dispute = billing.stripe.openDispute(getId(billing.stripe.findSubscription(first).latest_invoice));
    await billing.drained();
    expect(await getBillingStatus(customer)).to.include({ status: 'unpaid', plan: null });
    const refused = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    expect(refused.body.detail).to.match(/being disputed/);
    // Bought on a page that was opened before.
    billing.stripe.completeCheckout(laterPage);
    await billing.drained();
    expect(await customer.balance()).to.equal(200);
    expect((await customer.ledger()).slice(-2)).to.deep.equal([
      ['expiry', -1100],
      ['grant', 200],
    ]);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    await eventually('the first is ended', async () => {
      return billing.stripe.findSubscription(first).status === 'canceled';
    });
    await billing.drained();
    expect(await customer.balance()).to.equal(200);
    expect(await getBillingStatus(customer)).to.deep.include({ status: 'active' });
    expect((await listSubscriptions(customer)).map(({ status }) => status)).to.deep.equal(['canceled', 'active']);
  });

  it('is synced while its price belongs to no plan', async () => {
    const customer = await billing.createCustomer('pro');
    const subscription = billing.subscription(customer);
    const live = billing.stripe.store.get('subscription', subscription.id);
    const price = live.items.data[0]?.price as { id: string };
    const known = price.id;
    price.id = 'price_of_another_kind';
    billing.stripe.cancelAtPeriodEnd(subscription.id);
    await billing.eventsAttempted();
    expect(await getBillingStatus(customer)).to.deep.include({ status: 'active', cancel_at_period_end: true });
    billing.stripe.cancelNow(subscription.id);
    await billing.eventsAttempted();
    expect(await customer.balance()).to.equal(0);
    const waiting = await readTasks(billing.service, 'payment.event');
    expect(waiting.length).to.be.above(0);
    for (const { last_error: lastError } of waiting) expect(lastError).to.include('STRIPE_PRICE_');
    price.id = known;
    await billing.retryEvents();
  });

  it('is not granted a larger plan before it is paid', async () => {
    const customer = await billing.createCustomer('lite');
    const { id } = billing.subscription(customer);
    const live = billing.stripe.store.get('subscription', id);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'studio' } });
    billing.stripe.delivery.drop = 1;
    billing.stripe.confirmPlanSwitch(body.checkout_url);
    const invoice = billing.stripe.store.get('invoice', getId(live.latest_invoice));
    invoice.status = 'open';
    const startedAt = Date.now();
    await runJob(billing, 'billing', 'payments.reconcile');
    await billing.drained();
    await eventually('synced', async () => {
      const [row] = await listSubscriptions(customer);
      return new Date(row.synced_at).getTime() >= startedAt;
    });
    expect([(await getBillingStatus(customer)).plan.slug, await customer.balance()]).to.deep.equal(['lite', 200]);
    invoice.status = 'paid';
    await runJob(billing, 'billing', 'payments.reconcile');
    await eventually('granted', async () => (await customer.balance()) === 3000);
    expect((await getBillingStatus(customer)).plan.slug).to.equal('studio');
    billing.stripe.delivery.dropped.length = 0;
  });
});

describe('lost events of the payment processor', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService();
  });
  after(() => billing.stop());

  it('are fetched after weeks, for an old refund and an old dispute', async () => {
    const [refunded, disputed] = [await billing.createCustomer('pro'), await billing.createCustomer('pro')];
    await billing.topUp(refunded, 5_000);
    await runJob(billing, 'billing', 'paymentEvents.backfill');
    await eventually('reconciled', async () => {
      return (await billing.service.sql(`SELECT 1 FROM sync_cursors WHERE subject = 'events'`)).length === 1;
    });
    await billing.advanceTo(new Date(Date.now() + 20 * DAY_MS));
    billing.stripe.delivery.drop = 1;
    const [topup] = await billing.service.sql('SELECT * FROM topups');
    billing.stripe.refund(topup.stripe_payment_intent_id);
    billing.stripe.openDispute(billing.lastInvoice(disputed));
    // Everything is down for a week.
    await billing.advanceTo(new Date(Date.now() + 27 * DAY_MS));
    expect(await billing.onFirstApi(refunded).balance()).to.equal(1100 + 1896);
    await runJob(billing, 'billing', 'paymentEvents.backfill');
    await eventually('refunded', async () => (await billing.onFirstApi(refunded).balance()) === 1100);
    const status = async () => (await billing.onFirstApi(disputed).request('GET', '/api/billing/status/')).body.status;
    await eventually('suspended', async () => (await status()) === 'unpaid');
    // A late event would count as a sync of the present state, and the next test needs an old one.
    await billing.jobsEnded();
    billing.stripe.delivery.dropped.length = 0;
    billing.stripe.reset();
  });

  it('are replaced by the daily sync of subscriptions for the end of a dispute', async () => {
    const [dispute] = billing.stripe.store.list('dispute');
    billing.stripe.delivery.drop = 1;
    billing.stripe.closeDispute(dispute?.id as string, 'won');
    // The processor has deleted it, too.
    await billing.service.sql(`UPDATE sync_cursors SET synced_through = now() + interval '1 year'`);
    await billing.service.sql(`UPDATE subscriptions SET synced_at = synced_at - interval '2 days'`);
    await runJob(billing, 'billing', 'payments.reconcile');
    await eventually('taken up', async () => {
      const rows = await billing.service.sql(`SELECT 1 FROM subscriptions WHERE status <> 'active'`);
      return rows.length === 0;
    });
    billing.stripe.delivery.dropped.length = 0;
    billing.stripe.reset();
  });
});

describe('a subscription that ended here, as Stripe did not have it, and another one that was bought since', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService();
  });
  afterEach(() => billing.stripe.reset());
  after(() => billing.stop());

  const readStatuses = async ({ email }: TestCustomer) => {
    const rows = await billing.service.sql(
      `SELECT s.status FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 ORDER BY s.id`,
      [email],
    );
    return rows.map(({ status }) => status);
  };

  /** @returns the subscription that Stripe has again, before it is renewed, and the id of the other one. */
  async function replaceMissing(): Promise<{ customer: TestCustomer; missing: Stripe.Subscription; otherId: string }> {
    const { stripe, service } = billing;
    const customer = await billing.createCustomer(null);
    stripe.completeCheckout(await billing.openCheckout(customer, 'pro'), { yearSeconds: (3 * DAY_MS) / 1_000 });
    await billing.drained();
    const missing = stripe.store.get('subscription', billing.subscription(customer).id);
    stripe.store.remove(missing.id);
    await billing.advanceTo(new Date(service.now.getTime() + 7 * DAY_MS));
    const replaced = billing.onFirstApi(customer);
    expect(await readStatuses(customer)).to.deep.equal(['canceled']);
    await billing.subscribe(replaced, 'lite');
    const otherId = billing.subscription(customer).id;
    stripe.store.add<'subscription'>(missing);
    return { customer: replaced, missing, otherId };
  }

  /** Has Stripe renew and collect it, before any of its events arrives. */
  async function renew(): Promise<void> {
    const { stripe, service } = billing;
    const paidAt = new Date(service.now.getTime() + 2 * HOUR_MS);
    stripe.delivery.pause = true;
    await service.moveClockTo(paidAt, () => stripe.advanceTo(paidAt));
    stripe.delivery.pause = false;
  }

  it('is ended at Stripe, and the year that it was renewed for is refunded', async () => {
    const { customer, missing } = await replaceMissing();
    await renew();
    await eventually('ended', async () => missing.status === 'canceled');
    await billing.drained();
    const invoice = getId(missing.latest_invoice);
    const payment = billing.stripe.store.list('invoice_payment').find((entry) => getId(entry.invoice) === invoice);
    expect(billing.stripe.store.list('refund').map((refund) => [refund.amount, refund.payment_intent])).to.deep.equal([
      [34_800, payment?.payment.payment_intent],
    ]);
    expect(await readStatuses(customer)).to.deep.equal(['canceled', 'active']);
    expect(await customer.balance()).to.equal(200);
  });

  it('continues if the other one has ended without an event', async () => {
    const { customer, missing, otherId } = await replaceMissing();
    billing.stripe.delivery.drop = 1;
    billing.stripe.cancelNow(otherId);
    billing.stripe.delivery.drop = 0;
    billing.stripe.delivery.dropped.length = 0;
    await renew();
    await eventually('continued', async () => (await readStatuses(customer))[0] === 'active');
    await billing.drained();
    expect(await readStatuses(customer)).to.deep.equal(['active', 'canceled']);
    expect([missing.status, (await getBillingStatus(customer)).plan.slug]).to.deep.equal(['active', 'pro']);
  });
});

async function getBillingStatus(customer: TestCustomer) {
  return (await customer.request('GET', '/api/billing/status/')).body;
}

describe('the backfill of events while the payment processor is unavailable', () => {
  it('is retried within seconds, and not only on the next schedule', async () => {
    const billing = await startBillingService({ workers: 0 });
    try {
      billing.stripe.faults['events.list'] = 'error';
      const worker = await billing.service.startWorker();
      await worker.waitForLog(/^(?=.*paymentEvents\.backfill).*"msg":"job failed"/m);
      const lookedAt = () => billing.service.sql(`SELECT 1 FROM sync_cursors WHERE subject = 'events'`);
      expect(await lookedAt()).to.deep.equal([]);
      delete billing.stripe.faults['events.list'];
      await eventually('asked again, and answered', async () => (await lookedAt()).length === 1);
    } finally {
      await billing.stop();
    }
  });
});
