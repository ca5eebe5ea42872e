import { expect } from 'chai';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { readTasks } from '../harness/tasks.ts';
import { findTopups } from '../harness/topupInvoices.ts';

const DAY_MS = 86_400_000;

describe('refunds and disputes of a running year', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  const findRow = async (customer: TestCustomer) =>
    (
      await billing.service.sql(
        'SELECT s.* FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 ORDER BY s.id',
        [customer.email],
      )
    )[0];

  /** Creates a customer with a year of lite, upgraded to studio. */
  const upgraded = async () => {
    const customer = await billing.createCustomer('lite');
    const year = billing.lastInvoice(customer);
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'studio'));
    await billing.drained();
    return { customer, year, upgrade: billing.lastInvoice(customer) };
  };

  it('end the subscription when the whole amount is refunded, and not before', async () => {
    const { customer, year, upgrade } = await upgraded();
    billing.stripe.refund(year);
    await billing.drained();
    expect([await getBillingStatus(customer), await customer.balance()]).to.deep.equal([['active', 'studio'], 3000]);
    billing.stripe.refund(upgrade, 82_799);
    await billing.drained();
    expect(await getBillingStatus(customer)).to.deep.equal(['active', 'studio']);
    billing.stripe.refund(upgrade, 1);
    await billing.drained();
    expect([await getBillingStatus(customer), await customer.balance()]).to.deep.equal([['canceled', null], 0]);
  });

  it('revert to the plan that is still paid when an upgrade is refunded', async () => {
    const { customer, upgrade } = await upgraded();
    billing.stripe.faults['subscriptions.update'] = 'error';
    billing.stripe.refund(upgrade);
    await billing.stripe.drained();
    await eventually('tried', async () => {
      const events = await readTasks(billing.service, 'payment.event');
      return events.some(({ attempts }) => attempts > 0);
    });
    delete billing.stripe.faults['subscriptions.update'];
    await billing.drained();
    await eventually('on the plan that is paid', async () => (await getBillingStatus(customer))[1] === 'lite');
    expect(await findRow(customer)).to.include({ refunded_upgrade: 'studio', plan_slug: 'lite' });
    // After another paid upgrade, the plan stays.
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'studio'));
    await billing.drained();
    expect(await getBillingStatus(customer)).to.deep.equal(['active', 'studio']);
    expect(await findRow(customer)).to.include({ refunded_upgrade: null });
  });

  it('keep the plan while a refunded upgrade is being paid again, and after a balance has paid it', async () => {
    const { customer, upgrade } = await upgraded();
    billing.stripe.delivery.pause = true;
    billing.stripe.refund(upgrade);
    const subscription = billing.subscription(customer);
    const again = structuredClone(billing.stripe.store.get('invoice', upgrade));
    Object.assign(again, { id: billing.stripe.store.newId('in'), status: 'open', amount_paid: 0 });
    billing.stripe.store.add<'invoice'>(again);
    subscription.latest_invoice = again.id;
    billing.stripe.delivery.pause = false;
    const priceNow = () => billing.subscription(customer).items.data[0]?.price.id;
    billing.stripe.store.emit('customer.subscription.updated', subscription);
    await billing.drained();
    expect(priceNow()).to.equal(billing.stripe.prices.studio);
    again.status = 'paid';
    billing.stripe.store.emit('invoice.paid', again);
    await billing.drained();
    expect(priceNow()).to.equal(billing.stripe.prices.studio);
    expect(await getBillingStatus(customer)).to.deep.equal(['active', 'studio']);
    expect(await findRow(customer)).to.include({ refunded_upgrade: null });
  });

  it('end the subscription when the paid amount is refunded, although a balance covered a part', async () => {
    const customer = await billing.createCustomer('pro');
    const invoice = billing.lastInvoice(customer);
    billing.stripe.store.get('invoice', invoice).total += 5_000;
    billing.stripe.refund(invoice);
    await billing.drained();
    expect(await getBillingStatus(customer)).to.deep.equal(['canceled', null]);
  });

  it('suspend the subscription until the last of two disputes is won', async () => {
    const { customer, year, upgrade } = await upgraded();
    const disputes = [billing.stripe.openDispute(year), billing.stripe.openDispute(upgrade)];
    await billing.drained();
    expect(await getBillingStatus(customer)).to.deep.equal(['unpaid', null]);
    billing.stripe.closeDispute(disputes[1]?.id as string, 'won');
    await billing.drained();
    expect(await getBillingStatus(customer)).to.deep.equal(['unpaid', null]);
    billing.stripe.closeDispute(disputes[0]?.id as string, 'won');
    await billing.drained();
    expect(await getBillingStatus(customer)).to.deep.equal(['active', 'studio']);
  });

  it('suspend the subscription when an inquiry becomes a chargeback, also without an event', async () => {
    const customers = [await billing.createCustomer('pro'), await billing.createCustomer('pro')] as const;
    const inquiries = customers.map((one) => billing.stripe.openDispute(billing.lastInvoice(one), { isInquiry: true }));
    await billing.drained();
    expect(await getBillingStatus(customers[0])).to.deep.equal(['active', 'pro']);
    billing.stripe.escalateDispute(inquiries[0]?.id as string);
    await billing.drained();
    expect(await getBillingStatus(customers[0])).to.deep.equal(['unpaid', null]);
    billing.stripe.delivery.drop = 1;
    billing.stripe.escalateDispute(inquiries[1]?.id as string);
    await runJob(billing, 'billing', 'payments.reconcile');
    expect(await getBillingStatus(customers[1])).to.deep.equal(['unpaid', null]);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('end the subscription when a prevented dispute returned the whole amount', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.openDispute(billing.lastInvoice(customer), { isPrevented: true });
    await billing.drained();
    expect(await getBillingStatus(customer)).to.deep.equal(['canceled', null]);
  });

  it('return the credits of a top-up when its refund fails', async () => {
    const customer = await billing.createCustomer('pro');
    await billing.topUp(customer, 5_000);
    const [{ stripe_payment_intent_id: intent }] = await findTopups(billing, customer);
    const refund = billing.stripe.refund(intent);
    await billing.drained();
    expect(await customer.balance()).to.equal(1100);
    billing.stripe.failRefund(refund.id);
    await billing.drained();
    expect(await customer.balance()).to.equal(1100 + 1896);
    const { body } = await customer.request('GET', '/api/ledger/');
    expect(body.data[0]).to.include({ amount: 1896, description: 'Top-up: refund or dispute reversed' });
  });

  it('apply to the same account when the customer is deleted and created again', async () => {
    const customer = await billing.createCustomer('lite');
    const id = billing.customerId(customer);
    billing.stripe.delivery.drop = 1;
    billing.stripe.cancelNow(id);
    billing.stripe.deleteCustomer(id);
    expect((await customer.request('POST', '/api/billing/portal/')).status).to.equal(200);
    billing.stripe.delivery.drop = 0;
    billing.stripe.delivery.dropped.length = 0;
    await runJob(billing, 'billing', 'paymentEvents.backfill');
    await billing.drained();
    expect([await getBillingStatus(customer), await customer.balance()]).to.deep.equal([['canceled', null], 0]);
    await billing.subscribe(customer, 'pro');
    expect(await getBillingStatus(customer)).to.deep.equal(['active', 'pro']);
  });

  it('end a subscription that no longer exists at the processor', async () => {
    const customer = await billing.createCustomer('lite');
    const { id } = billing.subscription(customer);
    billing.stripe.store.remove(id);
    const passed = async (days: number) => {
      await billing.service.sql(
        'UPDATE subscriptions SET current_period_end = $2, synced_at = NULL WHERE stripe_subscription_id = $1',
        [id, new Date(Date.now() - days * DAY_MS)],
      );
      await billing.service.sql(
        `UPDATE accounts SET spendable_until = $2::timestamptz + interval '1 day' WHERE email = $1`,
        [customer.email, new Date(Date.now() - days * DAY_MS)],
      );
      await billing.maintain();
    };
    await passed(1);
    expect((await findRow(customer)).status).to.equal('active');
    await passed(4);
    expect((await findRow(customer)).status).to.equal('canceled');
    expect(await customer.balance()).to.equal(0);
  });
});

/** The status of the subscription, and the plan. */
async function getBillingStatus(customer: TestCustomer): Promise<[string, string | null]> {
  const { body } = await customer.request('GET', '/api/billing/status/');
  return [body.status, body.plan?.slug ?? null];
}
