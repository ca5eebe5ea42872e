import { expect } from 'chai';
import { type Billing, runJob, startBilling } from '../harness/billing.ts';
import type { Customer } from '../harness/client.ts';
import { eventually } from '../harness/service.ts';
import { idIn } from '../../dev/standins/stripe/books.ts';

describe('money that an account has no use for', () => {
  let billing: Billing;
  before(async () => {
    billing = await startBilling();
  });
  afterEach(() => billing.stripe.behave());
  after(() => billing.stop());

  const chargesOf = (customer: Customer) =>
    billing.stripe.objects
      .list('charge')
      .filter(({ customer: id }) => idIn(id) === billing.customerId(customer))
      .map(({ amount, amount_refunded: refunded }) => [amount, refunded] as const)
      .toSorted(([one], [other]) => one - other);

  const owedTo = (customer: Customer) =>
    billing.service.sql(
      `SELECT o.* FROM owed_refunds o JOIN accounts a ON a.id = o.account_id WHERE a.email = $1 ORDER BY o.created_at`,
      [customer.email],
    );

  /** Makes what is owed due now, and lets the sweep find it. */
  const sweep = async () => {
    await billing.service.sql(`UPDATE owed_refunds SET due_at = now() - interval '1 second' WHERE status = 'owed'`);
    await billing.service.sql(
      `UPDATE subscriptions SET follow_up_due_at = now() - interval '1 second' WHERE follow_up_due_at IS NOT NULL`,
    );
    await runJob(billing, 'payments', 'billing.keepUp');
  };

  const paidAfterTheEnd = async () => {
    const customer = await billing.customer(null);
    const page = await pageOf(customer, 'pro');
    billing.stripe.completeCheckout(page, { async: true });
    await billing.quiet();
    billing.stripe.cancelNow(billing.customerId(customer));
    await billing.quiet();
    return { customer, page };
  };

  it('is refunded by the sweep if the processor fails at the moment that it arrives', async () => {
    const { customer, page } = await paidAfterTheEnd();
    billing.stripe.faults['refunds.create'] = 'error';
    billing.stripe.settlePayment(page, 'succeeded');
    await billing.quiet();
    await eventually('attempted', async () => (await owedTo(customer))[0]?.attempts > 0);
    await sweep();
    expect(chargesOf(customer)).to.deep.equal([[34_800, 0]]);
    delete billing.stripe.faults['refunds.create'];
    await sweep();
    expect(chargesOf(customer)).to.deep.equal([[34_800, 34_800]]);
    expect((await owedTo(customer)).map(({ status }) => status)).to.deep.equal(['refunded']);
  });

  it('is refunded by the sweep if the worker dies after it recorded the debt', async () => {
    const { customer, page } = await paidAfterTheEnd();
    billing.stripe.faults['refunds.create'] = 'hang';
    billing.stripe.settlePayment(page, 'succeeded');
    await eventually('recorded', async () => (await owedTo(customer)).length === 1);
    await Promise.all(billing.service.workers.splice(0).map((worker) => worker.kill()));
    delete billing.stripe.faults['refunds.create'];
    await billing.service.startWorker();
    await billing.quiet();
    await sweep();
    await eventually('refunded', async () => (await owedTo(customer))[0].status === 'refunded');
    expect(chargesOf(customer)).to.deep.equal([[34_800, 34_800]]);
  });

  it('waits for the end of a dispute', async () => {
    const { customer, page } = await paidAfterTheEnd();
    billing.stripe.faults['refunds.create'] = 'error';
    billing.stripe.settlePayment(page, 'succeeded');
    await billing.quiet();
    await eventually('attempted', async () => (await owedTo(customer))[0]?.attempts > 0);
    const [owed] = await owedTo(customer);
    billing.stripe.openDispute(owed.invoice_id);
    await billing.quiet();
    delete billing.stripe.faults['refunds.create'];
    await sweep();
    expect((await owedTo(customer))[0]).to.include({ status: 'owed' });
    billing.stripe.closeDispute(owed.invoice_id, 'lost');
    await billing.quiet();
    await sweep();
    expect((await owedTo(customer))[0]).to.include({ status: 'refused' });
    expect(chargesOf(customer)).to.deep.equal([[34_800, 0]]);
  });

  it('of an upgrade is refunded if it was paid after the end of the subscription, and the year is not', async () => {
    const customer = await billing.customer('lite');
    const { id } = billing.stripe.subscriptionOf(billing.customerId(customer));
    billing.stripe.delivery.drop = 1;
    billing.stripe.confirmPlanSwitch(await pageOf(customer, 'studio'));
    billing.stripe.cancelNow(id);
    // The bank took until now.
    const ended = billing.stripe.objects.get('subscription', id);
    ended.ended_at = (ended.ended_at as number) - 10;
    const invoice = billing.stripe.objects.get('invoice', idIn(ended.latest_invoice));
    const year = billing.stripe.objects
      .list('invoice')
      .find((one) => one.amount_paid === 7_200 && one.customer === ended.customer);
    (year as typeof invoice).status_transitions.paid_at = ended.ended_at - 10;
    billing.stripe.delivery.drop = 0;
    billing.stripe.objects.tell('invoice.paid', invoice);
    await billing.quiet();
    await eventually('refunded', async () => (await owedTo(customer))[0]?.status === 'refunded');
    expect(chargesOf(customer)).to.deep.equal([
      [7_200, 0],
      [82_800, 82_800],
    ]);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('of a second subscription is refunded with its upgrade, though the processor fails at first', async () => {
    const customer = await billing.customer(null);
    const pages = [await pageOf(customer, 'lite'), await pageOf(customer, 'pro')] as const;
    billing.stripe.reopen(pages[0]);
    billing.stripe.completeCheckout(pages[1]);
    await billing.quiet();
    Object.assign(billing.stripe.faults, { 'subscriptions.cancel': 'error', 'refunds.create': 'error' });
    billing.stripe.completeCheckout(pages[0]);
    await billing.quiet();
    const second = billing.stripe.subscriptionOf(billing.customerId(customer)).id;
    const followUp = async () =>
      (await billing.service.sql('SELECT follow_up FROM subscriptions WHERE stripe_subscription_id = $1', [second]))[0];
    await eventually('turned down', async () => (await followUp())?.follow_up === 'refund');
    expect(billing.stripe.subscriptionOf(second).status).to.equal('active');
    // In the portal, while it is still there.
    upgrade(billing, second);
    await billing.quiet();
    for (const name of Object.keys(billing.stripe.faults)) delete billing.stripe.faults[name as 'all'];
    await sweep();
    await billing.quiet();
    await eventually(
      'refunded',
      async () => (await owedTo(customer)).filter(({ status }) => status === 'refunded').length === 2,
    );
    expect(billing.stripe.subscriptionOf(second).status).to.equal('canceled');
    expect(chargesOf(customer)).to.deep.equal([
      [7_200, 7_200],
      [34_800, 0],
      [82_800, 82_800],
    ]);
    expect(await customer.balance()).to.equal(1100);
  });
});

/** Switches a subscription to the largest plan. */
function upgrade({ stripe }: Billing, subscriptionId: string): void {
  const subscription = stripe.subscriptionOf(subscriptionId);
  const session = stripe.objects.add<'billing_portal.session'>({
    id: stripe.objects.newId('bps'),
    object: 'billing_portal.session',
    configuration: stripe.portalConfiguration,
    flow: {
      subscription_update_confirm: {
        subscription: subscriptionId,
        items: [{ id: subscription.items.data[0]?.id, price: stripe.prices.studio, quantity: 1 }],
      },
    },
  } as never);
  stripe.confirmPlanSwitch(session.id);
}

async function pageOf(customer: Customer, plan: string): Promise<string> {
  const { status, body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan } });
  expect(status, JSON.stringify(body)).to.equal(200);
  return body.checkout_url as string;
}
