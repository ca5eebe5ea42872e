import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { closeRejectedRefund } from '../../shared/domain/billing/owedRefunds.ts';
import { listPaymentIssues } from '../../shared/domain/staff/accountLookup.ts';
import { Account } from '../../shared/tables/Account.ts';
import { type BillingService, useBillingService } from '../harness/billingService.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { getId } from '../fakes/stripe/store.ts';
import { makeTasksDue, readTasks } from '../harness/tasks.ts';

describe('a payment that an account got nothing for', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  const listCharges = (customer: TestCustomer) =>
    billing.stripe.store
      .list('charge')
      .filter(({ customer: id }) => getId(id) === billing.customerId(customer))
      .map(({ amount, amount_refunded: refunded }) => [amount, refunded] as const)
      .toSorted(([one], [other]) => one - other);

  const owedTo = (customer: TestCustomer) =>
    billing.service.sql(
      `SELECT o.*, t.attempts FROM owed_refunds o JOIN accounts a ON a.id = o.account_id
         LEFT JOIN tasks t ON t.kind = 'refund.issue' AND t.key = o.key
        WHERE a.email = $1 ORDER BY o.created_at`,
      [customer.email],
    );

  /** Makes the owed refunds due, and runs the sweep. */
  const sweep = async () => {
    await makeTasksDue(billing.service, 'refund.issue', 'subscription.followUp');
    await billing.maintain();
  };

  /** Subscribes a customer who has another page open, for the plan `lite`, which can still be paid. */
  const subscribeBesidePage = async () => {
    const customer = await billing.createCustomer(null);
    const [page, paid] = [await billing.openCheckout(customer, 'lite'), await billing.openCheckout(customer, 'pro')];
    billing.stripe.reopenCheckout(page);
    billing.stripe.completeCheckout(paid);
    await billing.drained();
    return { customer, page };
  };

  const paidAfterTheEnd = async () => {
    const customer = await billing.createCustomer(null);
    const page = await billing.openCheckout(customer, 'pro');
    billing.stripe.completeCheckout(page, { async: true });
    await billing.drained();
    billing.stripe.cancelNow(billing.customerId(customer));
    await billing.drained();
    return { customer, page };
  };

  /** Leaves a customer whose payment after the end could not be refunded when it arrived. */
  const failToRefund = async () => {
    const { customer, page } = await paidAfterTheEnd();
    billing.stripe.faults['refunds.create'] = 'error';
    billing.stripe.settlePayment(page, 'succeeded');
    await billing.drained();
    await billing.jobsEnded();
    expect((await owedTo(customer))[0].attempts).to.be.within(1, 2);
    return customer;
  };

  it('is refunded by the sweep if the processor fails when it arrives', async () => {
    const customer = await failToRefund();
    // The event itself was applied: a failed follow-up is not a problem of the event.
    expect(await readTasks(billing.service, 'payment.event')).to.deep.equal([]);
    await sweep();
    expect(listCharges(customer)).to.deep.equal([[34_800, 0]]);
    delete billing.stripe.faults['refunds.create'];
    await sweep();
    expect(listCharges(customer)).to.deep.equal([[34_800, 34_800]]);
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
    await billing.drained();
    await sweep();
    await eventually('refunded', async () => (await owedTo(customer))[0].status === 'refunded');
    expect(listCharges(customer)).to.deep.equal([[34_800, 34_800]]);
  });

  it('waits for the end of a dispute, and is settled by one that is lost', async () => {
    const customer = await failToRefund();
    const [owed] = await owedTo(customer);
    billing.stripe.openDispute(owed.invoice_id);
    await billing.drained();
    delete billing.stripe.faults['refunds.create'];
    await sweep();
    expect((await owedTo(customer))[0]).to.include({ status: 'owed' });
    billing.stripe.closeDispute(owed.invoice_id, 'lost');
    await billing.drained();
    await sweep();
    // The dispute has returned the amount: there is nothing left for staff to pay back.
    expect((await owedTo(customer))[0]).to.include({ status: 'refunded', last_error: null });
    expect(listCharges(customer)).to.deep.equal([[34_800, 0]]);
  });

  it('is left to staff if the processor has no payment for it', async () => {
    const customer = await failToRefund();
    delete billing.stripe.faults['refunds.create'];
    const [owed] = await owedTo(customer);
    const paid = billing.stripe.store.list('invoice_payment').find(({ invoice }) => invoice === owed.invoice_id);
    Object.assign(paid as object, { status: 'canceled' });
    await sweep();
    expect((await owedTo(customer))[0]).to.include({ status: 'owed', attempts: owed.attempts + 1 });
    await sweep();
    expect((await owedTo(customer))[0]).to.include({ status: 'rejected', attempts: null });
    Object.assign(paid as object, { status: 'paid' });
  });

  it('stays owed when another refund of it fails, and is left to staff when its own does', async () => {
    const customer = await failToRefund();
    const [{ invoice_id: invoiceId }] = await owedTo(customer);
    const byStaff = billing.stripe.refund(invoiceId, 100);
    await billing.drained();
    billing.stripe.failRefund(byStaff.id);
    await billing.drained();
    expect((await owedTo(customer))[0]).to.include({ status: 'owed' });
    delete billing.stripe.faults['refunds.create'];
    await sweep();
    expect((await owedTo(customer))[0]).to.include({ status: 'refunded' });
    billing.stripe.store.emit('refund.failed', byStaff);
    await billing.drained();
    expect((await owedTo(customer))[0]).to.include({ status: 'refunded' });
    const [own] = billing.stripe.store.list('refund');
    billing.stripe.failRefund(own?.id as string);
    await billing.drained();
    const [rejected] = await owedTo(customer);
    expect(rejected).to.include({ status: 'rejected' });
    const account = await Account.query().findById(rejected.account_id).throwIfNotFound();
    expect(await listPaymentIssues(account)).to.have.length(1);
    const staff = { kind: 'system', systemUser: 'test', reason: 'paid by bank transfer' } as const;
    expect([await closeRejectedRefund(rejected, staff), await closeRejectedRefund(rejected, staff)]).to.deep.equal([
      true,
      false,
    ]);
    expect(await listPaymentIssues(account)).to.deep.equal([]);
  });

  it('is refunded although another task fails', async () => {
    const customer = await failToRefund();
    delete billing.stripe.faults['refunds.create'];
    const other = await billing.createCustomer('lite');
    await other.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    const sql = (text: string) => billing.service.sql(text);
    await makeTasksDue(billing.service, 'topup.page');
    await sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`);
    await sql('CREATE TRIGGER refuse BEFORE UPDATE ON topups FOR EACH STATEMENT EXECUTE FUNCTION refuse()');
    try {
      await sweep();
      await eventually('refunded', async () => (await owedTo(customer))[0].status === 'refunded');
    } finally {
      await sql('DROP FUNCTION refuse CASCADE');
    }
  });

  it('is refunded for an upgrade that was paid after the end of the subscription, and not for the year', async () => {
    const customer = await billing.createCustomer('lite');
    const { id } = billing.subscription(customer);
    billing.stripe.delivery.drop = 1;
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'studio'));
    billing.stripe.cancelNow(id);
    // The bank has accepted the payment only now.
    const ended = billing.stripe.store.get('subscription', id);
    ended.ended_at = (ended.ended_at as number) - 10;
    const invoice = billing.stripe.store.get('invoice', getId(ended.latest_invoice));
    const year = billing.stripe.store
      .list('invoice')
      .find((one) => one.amount_paid === 7_200 && one.customer === ended.customer);
    (year as typeof invoice).status_transitions.paid_at = ended.ended_at - 10;
    billing.stripe.delivery.drop = 0;
    billing.stripe.store.emit('invoice.paid', invoice);
    await billing.drained();
    await eventually('refunded', async () => (await owedTo(customer))[0]?.status === 'refunded');
    expect(listCharges(customer)).to.deep.equal([
      [7_200, 0],
      [82_800, 82_800],
    ]);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('is refunded for a second subscription and its upgrade, although the processor fails at first', async () => {
    const { customer, page } = await subscribeBesidePage();
    Object.assign(billing.stripe.faults, { 'subscriptions.cancel': 'error', 'refunds.create': 'error' });
    billing.stripe.completeCheckout(page);
    await billing.drained();
    const second = billing.subscription(customer).id;
    const followUp = async () =>
      (await billing.service.sql('SELECT follow_up FROM subscriptions WHERE stripe_subscription_id = $1', [second]))[0];
    await eventually('turned down', async () => (await followUp())?.follow_up === 'refund');
    expect(billing.stripe.findSubscription(second).status).to.equal('active');
    // In the portal, while it is still there.
    upgrade(billing, second);
    await billing.drained();
    for (const name of Object.keys(billing.stripe.faults)) delete billing.stripe.faults[name as 'all'];
    await sweep();
    await billing.drained();
    await eventually(
      'refunded',
      async () => (await owedTo(customer)).filter(({ status }) => status === 'refunded').length === 2,
    );
    expect(billing.stripe.findSubscription(second).status).to.equal('canceled');
    expect(listCharges(customer)).to.deep.equal([
      [7_200, 7_200],
      [34_800, 0],
      [82_800, 82_800],
    ]);
    expect(await customer.balance()).to.equal(1100);
  });

  it('follows for a second subscription although a run of its task, which found nothing to do, has not ended', async () => {
    const { customer, page } = await subscribeBesidePage();
    const lease = randomUUID();
    await billing.service.sql(
      `INSERT INTO tasks (kind, key, run_at, lease, created_at)
       SELECT 'subscription.followUp', cast(id + ahead AS text), now() + interval '1 day', $1, now()
         FROM (SELECT max(id) AS id FROM subscriptions) newest, generate_series(1, 20) ahead`,
      [lease],
    );
    billing.stripe.completeCheckout(page);
    const second = billing.subscription(customer).id;
    await eventually('canceled', async () => billing.stripe.findSubscription(second).status === 'canceled');
    await billing.service.sql('DELETE FROM tasks WHERE lease = $1', [lease]);
    await billing.drained();
  });
});

/** Switches a subscription to the largest plan. */
function upgrade({ stripe }: BillingService, subscriptionId: string): void {
  const subscription = stripe.findSubscription(subscriptionId);
  const session = stripe.store.add<'billing_portal.session'>({
    id: stripe.store.newId('bps'),
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
