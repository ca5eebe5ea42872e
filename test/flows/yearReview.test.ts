import { expect } from 'chai';
import { type Billing, runJob, startBilling } from '../harness/billing.ts';
import type { Customer } from '../harness/client.ts';
import { eventually } from '../harness/service.ts';
import { idIn } from '../../dev/standins/stripe/books.ts';

const DAY_MS = 86_400_000;

describe('the money of a running year', () => {
  let billing: Billing;
  before(async () => {
    billing = await startBilling();
  });
  afterEach(() => billing.stripe.behave());
  after(() => billing.stop());

  const rowOf = async (customer: Customer) =>
    (
      await billing.service.sql(
        'SELECT s.* FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 ORDER BY s.id',
        [customer.email],
      )
    )[0];

  const lastInvoice = (customer: Customer) =>
    idIn(billing.stripe.subscriptionOf(billing.customerId(customer)).latest_invoice);

  /** Somebody on studio: a year of lite, and the upgrade. */
  const upgraded = async () => {
    const customer = await billing.customer('lite');
    const year = lastInvoice(customer);
    const { body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'studio' } });
    billing.stripe.confirmPlanSwitch(body.checkout_url);
    await billing.quiet();
    return { customer, year, upgrade: lastInvoice(customer) };
  };

  it('ends the subscription when all of it is refunded, and not before', async () => {
    const { customer, year, upgrade } = await upgraded();
    billing.stripe.refund(year);
    await billing.quiet();
    expect([await statusOf(customer), await customer.balance()]).to.deep.equal([['active', 'studio'], 3000]);
    billing.stripe.refund(upgrade, 82_799);
    await billing.quiet();
    expect(await statusOf(customer)).to.deep.equal(['active', 'studio']);
    billing.stripe.refund(upgrade, 1);
    await billing.quiet();
    expect([await statusOf(customer), await customer.balance()]).to.deep.equal([['canceled', null], 0]);
  });

  it('falls back to the plan that is still paid when an upgrade is refunded', async () => {
    const { customer, upgrade } = await upgraded();
    billing.stripe.faults['subscriptions.update'] = 'error';
    billing.stripe.refund(upgrade);
    await billing.stripe.settled();
    await eventually('tried', async () => {
      const rows = await billing.service.sql('SELECT 1 FROM payment_events WHERE applied_at IS NULL AND attempts > 0');
      return rows.length > 0;
    });
    delete billing.stripe.faults['subscriptions.update'];
    await billing.quiet();
    await eventually('on the plan that is paid', async () => (await statusOf(customer))[1] === 'lite');
    expect(await rowOf(customer)).to.include({ refunded_upgrade: 'studio', plan_slug: 'lite' });
    // Upgraded again and paid, it stays there.
    const { body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'studio' } });
    billing.stripe.confirmPlanSwitch(body.checkout_url);
    await billing.quiet();
    expect(await statusOf(customer)).to.deep.equal(['active', 'studio']);
    expect(await rowOf(customer)).to.include({ refunded_upgrade: null });
  });

  it('stays suspended until the last of two disputes is won', async () => {
    const { customer, year, upgrade } = await upgraded();
    const disputes = [billing.stripe.openDispute(year), billing.stripe.openDispute(upgrade)];
    await billing.quiet();
    expect(await statusOf(customer)).to.deep.equal(['unpaid', null]);
    billing.stripe.closeDispute(disputes[1]?.id as string, 'won');
    await billing.quiet();
    expect(await statusOf(customer)).to.deep.equal(['unpaid', null]);
    billing.stripe.closeDispute(disputes[0]?.id as string, 'won');
    await billing.quiet();
    expect(await statusOf(customer)).to.deep.equal(['active', 'studio']);
  });

  it('is suspended when an inquiry becomes a chargeback, also if no event arrives', async () => {
    const customers = [await billing.customer('pro'), await billing.customer('pro')] as const;
    const inquiries = customers.map((one) => billing.stripe.openDispute(lastInvoice(one), { isInquiry: true }));
    await billing.quiet();
    expect(await statusOf(customers[0])).to.deep.equal(['active', 'pro']);
    billing.stripe.escalateDispute(inquiries[0]?.id as string);
    await billing.quiet();
    expect(await statusOf(customers[0])).to.deep.equal(['unpaid', null]);
    billing.stripe.delivery.drop = 1;
    billing.stripe.escalateDispute(inquiries[1]?.id as string);
    await runJob(billing, 'payments', 'payments.reconcile');
    expect(await statusOf(customers[1])).to.deep.equal(['unpaid', null]);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('ends the subscription when a prevented dispute returned all of it', async () => {
    const customer = await billing.customer('pro');
    billing.stripe.openDispute(lastInvoice(customer), { isPrevented: true });
    await billing.quiet();
    expect(await statusOf(customer)).to.deep.equal(['canceled', null]);
  });

  it('of a top-up returns its credits when the refund fails', async () => {
    const customer = await billing.customer('pro');
    await billing.topUp(customer, 5_000);
    const [{ stripe_payment_intent_id: intent }] = await billing.service.sql(
      'SELECT t.* FROM topups t JOIN accounts a ON a.id = t.account_id WHERE a.email = $1',
      [customer.email],
    );
    const refund = billing.stripe.refund(intent);
    await billing.quiet();
    expect(await customer.balance()).to.equal(1100);
    billing.stripe.failRefund(refund.id);
    await billing.quiet();
    expect(await customer.balance()).to.equal(1100 + 1896);
  });

  it('keeps its account when the customer is deleted and created again before the end is known', async () => {
    const customer = await billing.customer('lite');
    const id = billing.customerId(customer);
    billing.stripe.delivery.drop = 1;
    billing.stripe.cancelNow(id);
    billing.stripe.forget(id);
    expect((await customer.call('POST', '/api/billing/portal/')).status).to.equal(200);
    billing.stripe.delivery.drop = 0;
    billing.stripe.delivery.dropped.length = 0;
    await runJob(billing, 'payments', 'payments.missed');
    await billing.quiet();
    expect([await statusOf(customer), await customer.balance()]).to.deep.equal([['canceled', null], 0]);
    await billing.subscribe(customer, 'pro');
    expect(await statusOf(customer)).to.deep.equal(['active', 'pro']);
  });

  it('is not granted for ever if the processor does not know the subscription any more', async () => {
    const customer = await billing.customer('lite');
    const { id } = billing.stripe.subscriptionOf(billing.customerId(customer));
    billing.stripe.objects.remove(id);
    const passed = async (days: number) => {
      await billing.service.sql(
        'UPDATE subscriptions SET current_period_end = $2, synced_at = NULL WHERE stripe_subscription_id = $1',
        [id, new Date(Date.now() - days * DAY_MS)],
      );
      await billing.service.sql(
        `UPDATE accounts SET spend_until = $2::timestamptz + interval '1 day' WHERE email = $1`,
        [customer.email, new Date(Date.now() - days * DAY_MS)],
      );
      await runJob(billing, 'payments', 'billing.keepUp');
    };
    await passed(1);
    expect((await rowOf(customer)).status).to.equal('active');
    await passed(4);
    expect((await rowOf(customer)).status).to.equal('canceled');
    expect(await customer.balance()).to.equal(0);
  });
});

/** The status of the subscription, and the plan. */
async function statusOf(customer: Customer): Promise<[string, string | null]> {
  const { body } = await customer.call('GET', '/api/billing/status/');
  return [body.status, body.plan?.slug ?? null];
}
