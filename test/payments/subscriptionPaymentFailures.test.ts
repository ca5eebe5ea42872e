import { expect } from 'chai';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { getId } from '../fakes/stripe/store.ts';

const DAY_MS = 86_400_000;

describe('a subscription with payment problems', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  const getStatus = async (customer: TestCustomer) =>
    (await billing.onFirstApi(customer).request('GET', '/api/billing/status/')).body.status;

  it('is not ended as past due while it cannot be read', async () => {
    const customer = await billing.createCustomer('pro');
    await billing.service.sql(
      `UPDATE subscriptions SET status = 'past_due', past_due_since = now() - interval '15 days'
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email],
    );
    billing.stripe.faults['subscriptions.retrieve'] = 'error';
    const before = billing.stripe.requests.length;
    await billing.maintain();
    const tries = () =>
      billing.stripe.requests.slice(before).filter(({ name }) => name === 'subscriptions.retrieve').length;
    await eventually('read without success', async () => tries() >= 2);
    delete billing.stripe.faults['subscriptions.retrieve'];
    await billing.maintain();
    await eventually('active', async () => (await getStatus(customer)) === 'active');
    expect(billing.stripe.requests.slice(before).some(({ name }) => name === 'subscriptions.cancel')).to.equal(false);
  });

  it('is refunded when its payment succeeds after its end', async () => {
    const customer = await billing.createCustomer(null);
    const page = await billing.openCheckout(customer, 'pro');
    billing.stripe.completeCheckout(page, { async: true });
    await billing.drained();
    const id = billing.customerId(customer);
    billing.stripe.cancelNow(id);
    await billing.drained();
    billing.stripe.settlePayment(page, 'succeeded');
    await billing.drained();
    await eventually('refunded', async () => {
      const charge = billing.stripe.store.list('charge').find((one) => getId(one.customer) === id);
      return charge?.refunded === true;
    });
    expect([await getStatus(customer), await customer.balance()]).to.deep.equal(['canceled', 0]);
  });

  it('keeps the paid plan while a plan change is not paid', async () => {
    const customer = await billing.createCustomer('lite');
    const { id } = billing.subscription(customer);
    const live = billing.stripe.store.get('subscription', id);
    const year = billing.stripe.store.get('invoice', getId(live.latest_invoice));
    const upgrade = structuredClone(year);
    Object.assign(upgrade, { id: 'in_of_an_upgrade', status: 'open', billing_reason: 'subscription_update' });
    billing.stripe.store.add<'invoice'>(upgrade);
    live.latest_invoice = 'in_of_an_upgrade';
    live.status = 'past_due';
    await runJob(billing, 'billing', 'payments.reconcile');
    await billing.drained();
    expect([await getStatus(customer), await customer.balance()]).to.deep.equal(['active', 200]);
    live.status = 'active';
    live.latest_invoice = year.id;
  });

  it('starts although its latest invoice is that of a failed plan change', async () => {
    billing.stripe.delivery.drop = 1;
    const customer = await billing.createCustomer(null);
    billing.stripe.completeCheckout(await billing.openCheckout(customer, 'pro'));
    const live = billing.stripe.store.get('subscription', billing.subscription(customer).id);
    const year = billing.stripe.store.get('invoice', getId(live.latest_invoice));
    const change = structuredClone(year);
    Object.assign(change, { id: 'in_that_is_void', status: 'void', billing_reason: 'subscription_update' });
    billing.stripe.store.add<'invoice'>(change);
    live.latest_invoice = 'in_that_is_void';
    await runJob(billing, 'billing', 'payments.reconcile');
    await eventually('begun', async () => (await customer.balance()) === 1100);
    live.latest_invoice = year.id;
    billing.stripe.delivery.dropped.length = 0;
  });

  it('keeps one of two checkout pages that are opened at the same time', async () => {
    const customer = await billing.createCustomer(null);
    await customer.request('POST', '/api/billing/portal/');
    billing.stripe.latencyMs = 60;
    const pages = await Promise.all(['pro', 'lite'].map((plan) => billing.openCheckout(customer, plan)));
    billing.stripe.latencyMs = 0;
    const open = billing.stripe.store.list('checkout.session').filter(({ url }) => pages.includes(url as string));
    expect(open.map(({ status }) => status)).to.deep.equal(['open']);
  });

  it('can be bought by a customer who was deleted at the processor', async () => {
    const customer = await billing.createCustomer('lite');
    const id = billing.customerId(customer);
    billing.stripe.cancelNow(id);
    await billing.drained();
    billing.stripe.deleteCustomer(id);
    billing.stripe.completeCheckout(await billing.openCheckout(customer, 'pro'));
    await billing.drained();
    expect([await getStatus(customer), await customer.balance()]).to.deep.equal(['active', 1100]);
    expect((await customer.request('POST', '/api/billing/portal/')).status).to.equal(200);
  });

  it('ends when its dispute is lost, although the event of its end is lost', async () => {
    const customer = await billing.createCustomer('pro');
    const { latest_invoice: invoice } = billing.subscription(customer);
    const dispute = billing.stripe.openDispute(getId(invoice));
    await billing.drained();
    expect([await getStatus(customer), await customer.balance()]).to.deep.equal(['unpaid', 1100]);
    expect((await customer.createGeneration(IMAGE)).body.error).to.equal('subscription_required');
    billing.stripe.delivery.drop = 1;
    billing.stripe.closeDispute(dispute.id, 'lost');
    await runJob(billing, 'billing', 'payments.reconcile');
    expect([await getStatus(customer), await customer.balance()]).to.deep.equal(['canceled', 0]);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('is not affected by a dispute of an upgrade in an earlier year', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'studio'));
    await billing.drained();
    expect(await customer.balance()).to.equal(3000);
    const upgrade = billing.lastInvoice(customer);
    await billing.advanceTo(new Date(Date.now() + 375 * DAY_MS));
    expect(await getStatus(customer)).to.equal('active');
    const dispute = billing.stripe.openDispute(upgrade);
    await billing.drained();
    expect(await getStatus(customer)).to.equal('active');
    billing.stripe.closeDispute(dispute.id, 'lost');
    await billing.drained();
    expect(await getStatus(customer)).to.equal('active');
  });

  it('is granted no difference for an upgrade in the last month of its year', async () => {
    const customer = billing.onFirstApi(await billing.createCustomer('lite'));
    const subscription = billing.subscription(customer);
    const currentPeriodEnd = new Date(1_000 * (subscription.items.data[0]?.current_period_end as number));
    await billing.advanceTo(new Date(currentPeriodEnd.getTime() - DAY_MS / 2));
    const before = await billing.onFirstApi(customer).balance();
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(billing.onFirstApi(customer), 'studio'));
    await billing.drained();
    expect(await billing.onFirstApi(customer).balance()).to.equal(before);
    await billing.advanceTo(new Date(currentPeriodEnd.getTime() + DAY_MS / 2));
    expect((await billing.onFirstApi(customer).ledger()).at(-1)).to.deep.equal(['grant', 3000]);
  });
});
