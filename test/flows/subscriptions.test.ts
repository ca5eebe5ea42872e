import { expect } from 'chai';
import { type Billing, runJob, startBilling } from '../harness/billing.ts';
import type { Customer } from '../harness/client.ts';
import { eventually } from '../harness/service.ts';
import { idIn } from '../../dev/standins/stripe/books.ts';

const DAY_MS = 86_400_000;

describe('the subscription that an account lives under', () => {
  let billing: Billing;
  before(async () => {
    billing = await startBilling({ workers: 2 });
  });
  afterEach(() => billing.stripe.behave());
  after(() => billing.stop());

  const subscriptionsOf = (customer: Customer) =>
    billing.service.sql(
      `SELECT s.* FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 ORDER BY s.id`,
      [customer.email],
    );

  /** For two plans, both open: as those are that were opened at the same moment. */
  const twoPages = async (customer: Customer): Promise<[string, string]> => {
    const pages: [string, string] = [await pageOf(customer, 'pro'), await pageOf(customer, 'lite')];
    billing.stripe.reopen(pages[0]);
    return pages;
  };

  it('is one: a second that was paid for as well is refunded and ended', async () => {
    const customer = await billing.customer(null);
    const [first, second] = await twoPages(customer);
    billing.stripe.completeCheckout(first, { async: true });
    await billing.quiet();
    const [begun] = await subscriptionsOf(customer);
    expect(begun).to.include({ status: 'incomplete' });
    billing.stripe.completeCheckout(second);
    await billing.quiet();
    expect(await customer.balance()).to.equal(200);
    billing.stripe.settlePayment(first, 'succeeded');
    await billing.quiet();
    const ended = () => billing.stripe.subscriptionOf(begun.stripe_subscription_id).status === 'canceled';
    await eventually('the second is ended', async () => ended());
    await eventually('its refund is made', () => billing.stripe.objects.list('refund').length > 0);
    await billing.quiet();
    const invoice = idIn(billing.stripe.subscriptionOf(begun.stripe_subscription_id).latest_invoice);
    const [refund] = billing.stripe.objects.list('refund');
    const payment = billing.stripe.objects.list('invoice_payment').find((entry) => idIn(entry.invoice) === invoice);
    expect(refund).to.include({ amount: 34_800, payment_intent: payment?.payment.payment_intent });
    expect(await customer.balance()).to.equal(200);
    expect(await statusOf(customer)).to.deep.include({
      status: 'active',
      plan: { slug: 'lite', name: 'Lite', parallel_limit: 2 },
    });
  });

  it('cannot be bought while the payment of another one is under way', async () => {
    const customer = await billing.customer(null);
    const page = await pageOf(customer, 'pro');
    billing.stripe.completeCheckout(page, { async: true });
    await billing.quiet();
    const refused = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    expect([refused.status, refused.body.error]).to.deep.equal([400, 'validation_error']);
    expect(refused.body.detail).to.match(/Pro plan is still being processed/);
    billing.stripe.settlePayment(page, 'failed');
    await billing.quiet();
    billing.stripe.completeCheckout(await pageOf(customer, 'lite'));
    await billing.quiet();
    expect(await customer.balance()).to.equal(200);
    billing.stripe.cancelNow((await subscriptionsOf(customer))[0].stripe_subscription_id);
    await billing.quiet();
    expect(await customer.balance()).to.equal(200);
  });

  it('is not paid for twice when nobody has told us of the first', async () => {
    const customer = await billing.customer(null);
    billing.stripe.delivery.drop = 1;
    billing.stripe.completeCheckout(await pageOf(customer, 'pro'));
    const again = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    expect([again.status, again.body.error]).to.deep.equal([400, 'validation_error']);
    expect(await customer.balance()).to.equal(1100);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('keeps its credits when one of before ends', async () => {
    const customer = await billing.customer(null);
    const [page, laterPage] = await twoPages(customer);
    billing.stripe.completeCheckout(page);
    await billing.quiet();
    const [{ stripe_subscription_id: first }] = await subscriptionsOf(customer);
    const dispute = billing.stripe.openDispute(idIn(billing.stripe.subscriptionOf(first).latest_invoice));
    await billing.quiet();
    expect(await statusOf(customer)).to.include({ status: 'unpaid', plan: null });
    const refused = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    expect(refused.body.detail).to.match(/being disputed/);
    // Bought all the same, on a page that was open before.
    billing.stripe.completeCheckout(laterPage);
    await billing.quiet();
    expect(await customer.balance()).to.equal(200);
    expect((await customer.ledger()).slice(-2)).to.deep.equal([
      ['expiry', -1100],
      ['grant', 200],
    ]);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.quiet();
    await eventually('the first is ended', async () => {
      return billing.stripe.subscriptionOf(first).status === 'canceled';
    });
    await billing.quiet();
    expect(await customer.balance()).to.equal(200);
    expect(await statusOf(customer)).to.deep.include({ status: 'active' });
    expect((await subscriptionsOf(customer)).map(({ status }) => status)).to.deep.equal(['canceled', 'active']);
  });

  it('follows what happens to it on a price that is none of our plans', async () => {
    const customer = await billing.customer('pro');
    const subscription = billing.stripe.subscriptionOf(billing.customerId(customer));
    const live = billing.stripe.objects.get('subscription', subscription.id);
    const price = live.items.data[0]?.price as { id: string };
    const known = price.id;
    price.id = 'price_of_another_kind';
    billing.stripe.cancelAtPeriodEnd(subscription.id);
    await billing.tried();
    expect(await statusOf(customer)).to.deep.include({ status: 'active', cancel_at_period_end: true });
    billing.stripe.cancelNow(subscription.id);
    await billing.tried();
    expect(await customer.balance()).to.equal(0);
    const waiting = await billing.service.sql('SELECT problem FROM payment_events WHERE applied_at IS NULL');
    expect(waiting.length).to.be.above(0);
    for (const { problem } of waiting) expect(problem).to.include('STRIPE_PRICE_');
    price.id = known;
    await billing.retryEvents();
  });

  it('is not granted a larger plan before that is paid for', async () => {
    const customer = await billing.customer('lite');
    const { id } = billing.stripe.subscriptionOf(billing.customerId(customer));
    const live = billing.stripe.objects.get('subscription', id);
    const { body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'studio' } });
    billing.stripe.delivery.drop = 1;
    billing.stripe.confirmPlanSwitch(body.checkout_url);
    const invoice = billing.stripe.objects.get('invoice', idIn(live.latest_invoice));
    invoice.status = 'open';
    await runJob(billing, 'payments', 'payments.reconcile');
    await billing.quiet();
    await eventually('looked at', async () => {
      const [row] = await subscriptionsOf(customer);
      return Date.now() - new Date(row.synced_at).getTime() < 5_000;
    });
    expect([(await statusOf(customer)).plan.slug, await customer.balance()]).to.deep.equal(['lite', 200]);
    invoice.status = 'paid';
    await runJob(billing, 'payments', 'payments.reconcile');
    await eventually('granted', async () => (await customer.balance()) === 3000);
    expect((await statusOf(customer)).plan.slug).to.equal('studio');
    billing.stripe.delivery.dropped.length = 0;
  });
});

describe('what the payment processor has told in vain', () => {
  let billing: Billing;
  before(async () => {
    billing = await startBilling();
  });
  after(() => billing.stop());

  it('is asked for after weeks: a refund and a dispute of long ago', async () => {
    const [refunded, disputed] = [await billing.customer('pro'), await billing.customer('pro')];
    await billing.topUp(refunded, 5_000);
    await runJob(billing, 'payments', 'payments.missed');
    await eventually('reconciled', async () => {
      return (await billing.service.sql(`SELECT 1 FROM reconciliations WHERE subject = 'events'`)).length === 1;
    });
    await billing.travelTo(new Date(Date.now() + 20 * DAY_MS));
    billing.stripe.delivery.drop = 1;
    const [topup] = await billing.service.sql('SELECT * FROM topups');
    billing.stripe.refund(topup.stripe_payment_intent_id);
    billing.stripe.openDispute(idIn(billing.stripe.subscriptionOf(billing.customerId(disputed)).latest_invoice));
    // Everything is down for a week.
    await billing.travelTo(new Date(Date.now() + 27 * DAY_MS));
    expect(await billing.now(refunded).balance()).to.equal(1100 + 1896);
    await runJob(billing, 'payments', 'payments.missed');
    await eventually('refunded', async () => (await billing.now(refunded).balance()) === 1100);
    const status = async () => (await billing.now(disputed).call('GET', '/api/billing/status/')).body.status;
    await eventually('suspended', async () => (await status()) === 'unpaid');
    billing.stripe.delivery.dropped.length = 0;
    billing.stripe.behave();
  });

  it('of the end of a dispute is found by the daily look at the subscription', async () => {
    const [dispute] = billing.stripe.objects.list('dispute');
    billing.stripe.delivery.drop = 1;
    billing.stripe.closeDispute(dispute?.id as string, 'won');
    // Forgotten by the processor, too.
    await billing.service.sql(`UPDATE reconciliations SET done_until = now() + interval '1 year'`);
    await billing.service.sql(`UPDATE subscriptions SET synced_at = synced_at - interval '2 days'`);
    await runJob(billing, 'payments', 'payments.reconcile');
    await eventually('taken up', async () => {
      const rows = await billing.service.sql(`SELECT 1 FROM subscriptions WHERE status <> 'active'`);
      return rows.length === 0;
    });
    billing.stripe.delivery.dropped.length = 0;
    billing.stripe.behave();
  });
});

async function statusOf(customer: Customer) {
  return (await customer.call('GET', '/api/billing/status/')).body;
}

async function pageOf(customer: Customer, plan: string): Promise<string> {
  const { status, body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan } });
  expect(status, JSON.stringify(body)).to.equal(200);
  return body.checkout_url as string;
}

describe('a payment processor that does not answer when it is asked what it has told in vain', () => {
  it('is asked again within seconds, and not only when the next time comes round', async () => {
    const billing = await startBilling({ workers: 0 });
    try {
      billing.stripe.faults['events.list'] = 'error';
      const worker = await billing.service.startWorker();
      await worker.logged(/^(?=.*payments\.missed).*"msg":"a job failed"/m);
      const lookedAt = () => billing.service.sql(`SELECT 1 FROM reconciliations WHERE subject = 'events'`);
      expect(await lookedAt()).to.deep.equal([]);
      delete billing.stripe.faults['events.list'];
      await eventually('asked again, and answered', async () => (await lookedAt()).length === 1);
    } finally {
      await billing.stop();
    }
  });
});
