import { expect } from 'chai';
import { type Billing, runJob, startBilling } from '../harness/billing.ts';
import type { Customer } from '../harness/client.ts';
import { eventually } from '../harness/service.ts';
import { idIn } from '../../dev/standins/stripe/books.ts';

const DAY_MS = 86_400_000;

describe('a subscription whose payment goes wrong', () => {
  let billing: Billing;
  before(async () => {
    billing = await startBilling();
  });
  afterEach(() => billing.stripe.behave());
  after(() => billing.stop());

  const statusOf = async (customer: Customer) =>
    (await billing.now(customer).call('GET', '/api/billing/status/')).body.status;

  it('is not ended as overdue when it cannot be looked at', async () => {
    const customer = await billing.customer('pro');
    await billing.service.sql(
      `UPDATE subscriptions SET status = 'past_due', past_due_since = now() - interval '15 days'
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email],
    );
    billing.stripe.faults['subscriptions.retrieve'] = 'error';
    const asked = billing.stripe.requests.length;
    await runJob(billing, 'payments', 'billing.keepUp');
    const tries = () =>
      billing.stripe.requests.slice(asked).filter(({ name }) => name === 'subscriptions.retrieve').length;
    await eventually('looked at in vain', async () => tries() >= 2);
    delete billing.stripe.faults['subscriptions.retrieve'];
    await runJob(billing, 'payments', 'billing.keepUp');
    await eventually('active', async () => (await statusOf(customer)) === 'active');
    expect(billing.stripe.requests.slice(asked).some(({ name }) => name === 'subscriptions.cancel')).to.equal(false);
  });

  it('is refunded when the money arrives after it was ended', async () => {
    const customer = await billing.customer(null);
    const page = await pageOf(customer, 'pro');
    billing.stripe.completeCheckout(page, { async: true });
    await billing.quiet();
    const id = billing.customerId(customer);
    billing.stripe.cancelNow(id);
    await billing.quiet();
    billing.stripe.settlePayment(page, 'succeeded');
    await billing.quiet();
    await eventually('refunded', async () => {
      const charge = billing.stripe.objects.list('charge').find((one) => idIn(one.customer) === id);
      return charge?.refunded === true;
    });
    expect([await statusOf(customer), await customer.balance()]).to.deep.equal(['canceled', 0]);
  });

  it('stays on what is paid while the change to another plan is not', async () => {
    const customer = await billing.customer('lite');
    const { id } = billing.stripe.subscriptionOf(billing.customerId(customer));
    const live = billing.stripe.objects.get('subscription', id);
    const year = billing.stripe.objects.get('invoice', idIn(live.latest_invoice));
    const upgrade = structuredClone(year);
    Object.assign(upgrade, { id: 'in_of_an_upgrade', status: 'open', billing_reason: 'subscription_update' });
    billing.stripe.objects.add<'invoice'>(upgrade);
    live.latest_invoice = 'in_of_an_upgrade';
    live.status = 'past_due';
    await runJob(billing, 'payments', 'payments.reconcile');
    await billing.quiet();
    expect([await statusOf(customer), await customer.balance()]).to.deep.equal(['active', 200]);
    live.status = 'active';
    live.latest_invoice = year.id;
  });

  it('begins, though the invoice of a change that came to nothing is its last', async () => {
    billing.stripe.delivery.drop = 1;
    const customer = await billing.customer(null);
    billing.stripe.completeCheckout(await pageOf(customer, 'pro'));
    const live = billing.stripe.objects.get(
      'subscription',
      billing.stripe.subscriptionOf(billing.customerId(customer)).id,
    );
    const year = billing.stripe.objects.get('invoice', idIn(live.latest_invoice));
    const change = structuredClone(year);
    Object.assign(change, { id: 'in_that_is_void', status: 'void', billing_reason: 'subscription_update' });
    billing.stripe.objects.add<'invoice'>(change);
    live.latest_invoice = 'in_that_is_void';
    await runJob(billing, 'payments', 'payments.reconcile');
    await eventually('begun', async () => (await customer.balance()) === 1100);
    live.latest_invoice = year.id;
    billing.stripe.delivery.dropped.length = 0;
  });

  it('keeps one page of two that are opened at once', async () => {
    const customer = await billing.customer(null);
    await customer.call('POST', '/api/billing/portal/');
    billing.stripe.latencyMs = 60;
    const pages = await Promise.all(['pro', 'lite'].map((plan) => pageOf(customer, plan)));
    billing.stripe.latencyMs = 0;
    const open = billing.stripe.objects.list('checkout.session').filter(({ url }) => pages.includes(url as string));
    expect(open.map(({ status }) => status)).to.deep.equal(['open']);
  });

  it('can be bought again by a customer who was deleted at the processor', async () => {
    const customer = await billing.customer('lite');
    const id = billing.customerId(customer);
    billing.stripe.cancelNow(id);
    await billing.quiet();
    billing.stripe.forget(id);
    billing.stripe.completeCheckout(await pageOf(customer, 'pro'));
    await billing.quiet();
    expect([await statusOf(customer), await customer.balance()]).to.deep.equal(['active', 1100]);
    expect((await customer.call('POST', '/api/billing/portal/')).status).to.equal(200);
  });

  it('that is disputed and lost ends, though its end is told in vain', async () => {
    const customer = await billing.customer('pro');
    const { latest_invoice: invoice } = billing.stripe.subscriptionOf(billing.customerId(customer));
    const dispute = billing.stripe.openDispute(idIn(invoice));
    await billing.quiet();
    expect(await statusOf(customer)).to.equal('unpaid');
    billing.stripe.delivery.drop = 1;
    billing.stripe.closeDispute(dispute.id, 'lost');
    await runJob(billing, 'payments', 'payments.reconcile');
    expect([await statusOf(customer), await customer.balance()]).to.deep.equal(['canceled', 0]);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('is not touched by a dispute over the upgrade of a year that is over', async () => {
    const customer = await billing.customer('lite');
    billing.stripe.confirmPlanSwitch(await pageOf(customer, 'studio'));
    await billing.quiet();
    expect(await customer.balance()).to.equal(3000);
    const upgrade = idIn(billing.stripe.subscriptionOf(billing.customerId(customer)).latest_invoice);
    await billing.travelTo(new Date(Date.now() + 375 * DAY_MS));
    expect(await statusOf(customer)).to.equal('active');
    const dispute = billing.stripe.openDispute(upgrade);
    await billing.quiet();
    expect(await statusOf(customer)).to.equal('active');
    billing.stripe.closeDispute(dispute.id, 'lost');
    await billing.quiet();
    expect(await statusOf(customer)).to.equal('active');
  });

  it('is granted no difference for an upgrade in the last month of a year', async () => {
    const customer = billing.now(await billing.customer('lite'));
    const subscription = billing.stripe.subscriptionOf(billing.customerId(customer));
    const currentPeriodEnd = new Date(1_000 * (subscription.items.data[0]?.current_period_end as number));
    await billing.travelTo(new Date(currentPeriodEnd.getTime() - DAY_MS / 2));
    const before = await billing.now(customer).balance();
    billing.stripe.confirmPlanSwitch(await pageOf(billing.now(customer), 'studio'));
    await billing.quiet();
    expect(await billing.now(customer).balance()).to.equal(before);
    await billing.travelTo(new Date(currentPeriodEnd.getTime() + DAY_MS / 2));
    expect((await billing.now(customer).ledger()).at(-1)).to.deep.equal(['grant', 3000]);
  });
});

async function pageOf(customer: Customer, plan: string): Promise<string> {
  return (await customer.call('POST', '/api/billing/checkout/', { body: { plan } })).body.checkout_url;
}
