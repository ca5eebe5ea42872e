import { expect } from 'chai';
import { requestAccountDeletion } from '../../shared/domain/privacy/deletion.ts';
import { summarizeDeletion } from '../../shared/domain/privacy/deletionSummary.ts';
import { eraseAccount } from '../../shared/domain/privacy/erase.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/spec/durations.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { captureError } from '../harness/expectRejection.ts';
import { runDueTasks } from '../harness/tasks.ts';

describe('the deletion of an account around a renewal', () => {
  let billing: BillingService;
  /** Time from which the next test starts. */
  let start = new Date('2027-01-31T10:00:00Z');
  before(async () => {
    billing = await startBillingService({ startAt: start });
  });
  afterEach(() => billing.stripe.reset());
  after(() => billing.stop());

  const readId = async ({ email }: TestCustomer): Promise<number> =>
    Number((await billing.service.sql('SELECT id FROM accounts WHERE email = $1', [email]))[0].id);
  const sweep = () => runDueTasks(billing.service);
  const requestDeletion = async (customer: TestCustomer): Promise<number> => {
    const id = await readId(customer);
    await requestAccountDeletion(buildServiceCaller(id), customer.email, SERVICE_ORIGIN);
    await sweep();
    return id;
  };
  const listPayments = (customerId: string) =>
    billing.stripe.store
      .list('charge')
      .filter(({ customer, status }) => customer === customerId && status === 'succeeded')
      .map(({ amount, amount_refunded: refunded }) => amount - refunded);
  const moveTo = async (date: Date) => {
    await billing.service.moveClockTo(date, () => billing.stripe.advanceTo(date));
    start = date;
  };

  /** Creates a customer whose year has ended, minutes ago: the invoice of the next one is a draft. */
  const createRenewing = async () => {
    const customer = await billing.createCustomer('pro');
    const { current_period_end: end } = billing.subscription(customer).items.data[0] as {
      current_period_end: number;
    };
    await moveTo(new Date(1_000 * end + 20 * MINUTE_MS));
    await billing.drained();
    return { customer, customerId: billing.customerId(customer), yearEnd: new Date(1_000 * end) };
  };

  it('promises no rest of a year that is not paid', async () => {
    const { customer } = await createRenewing();
    expect(await summarizeDeletion(await readId(customer))).to.include({ subscription: null });
  });

  it('cancels a subscription whose next invoice is a draft, so that no further year is charged', async () => {
    const { customer, customerId, yearEnd } = await createRenewing();
    const id = await requestDeletion(customer);
    expect(billing.stripe.findSubscription(customerId).status).to.equal('canceled');
    await billing.advanceTo(new Date(yearEnd.getTime() + 8 * DAY_MS));
    await sweep();
    await billing.drained();
    expect(listPayments(customerId)).to.deep.equal([34_800]);
    const [{ erased_at: erasedAt }] = await billing.service.sql('SELECT erased_at FROM accounts WHERE id = $1', [id]);
    expect(erasedAt).to.not.equal(null);
  });

  for (const [when, days] of [
    ['its event arrives before the account is erased', 1],
    ['its event arrives after the account was erased', 8],
  ] as const) {
    it(`refunds a draft that was collected although the subscription was canceled, if ${when}`, async () => {
      const { customer, customerId, yearEnd } = await createRenewing();
      const id = await requestDeletion(customer);
      await moveTo(new Date(yearEnd.getTime() + 2 * 60 * MINUTE_MS));
      billing.stripe.delivery.hold(customerId);
      billing.stripe.collectDraft(customerId);
      await billing.advanceTo(new Date(yearEnd.getTime() + days * DAY_MS));
      await sweep();
      const [{ erased_at: erasedAt }] = await billing.service.sql('SELECT erased_at FROM accounts WHERE id = $1', [id]);
      expect(erasedAt !== null).to.equal(days === 8);
      expect(listPayments(customerId)).to.have.members([34_800, 34_800]);
      billing.stripe.delivery.release(customerId);
      await billing.drained();
      expect(listPayments(customerId)).to.have.members([34_800, 0]);
      await billing.advanceTo(new Date(yearEnd.getTime() + 9 * DAY_MS));
      expect(listPayments(customerId)).to.have.members([34_800, 0]);
    });
  }

  it('cancels a subscription before its renewal is declined and retried', async () => {
    const { customer, customerId, yearEnd } = await createRenewing();
    billing.stripe.setCard(customerId, 'declined');
    await requestDeletion(customer);
    await moveTo(new Date(yearEnd.getTime() + 2 * 60 * MINUTE_MS));
    await billing.drained();
    billing.stripe.setCard(customerId, 'ok');
    await billing.advanceTo(new Date(yearEnd.getTime() + 8 * DAY_MS));
    await sweep();
    await billing.drained();
    expect(listPayments(customerId)).to.deep.equal([34_800]);
  });

  it('refunds a plan and a top-up that were paid after the request', async () => {
    const customer = await billing.createCustomer('lite');
    const customerId = billing.customerId(customer);
    const { body } = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    const buyer = await billing.createCustomer(null);
    const page = await buyer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    const buyerId = billing.customerId(buyer);
    const ids = [await requestDeletion(customer), await requestDeletion(buyer)];
    await moveTo(new Date(billing.service.now.getTime() + 10 * MINUTE_MS));
    billing.stripe.completeCheckout(body.checkout_url);
    billing.stripe.completeCheckout(page.body.checkout_url);
    await billing.drained();
    await billing.advanceTo(new Date(billing.service.now.getTime() + 8 * DAY_MS));
    await sweep();
    await billing.advanceTo(new Date(billing.service.now.getTime() + 60 * MINUTE_MS));
    expect(listPayments(customerId).toSorted((a, b) => a - b)).to.deep.equal([0, 7_200]);
    expect(listPayments(buyerId)).to.deep.equal([0]);
    for (const id of ids) {
      const [row] = await billing.service.sql('SELECT balance, erased_at FROM accounts WHERE id = $1', [id]);
      expect([row.balance, row.erased_at === null]).to.deep.equal([0, false]);
    }
  });

  it('refunds a top-up that was paid after the request and was disputed at the erasure, once the dispute is won', async () => {
    const customer = await billing.createCustomer('lite');
    const customerId = billing.customerId(customer);
    const { body } = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    await requestDeletion(customer);
    await moveTo(new Date(billing.service.now.getTime() + 10 * MINUTE_MS));
    billing.stripe.completeCheckout(body.checkout_url);
    await billing.drained();
    const charge = billing.stripe.store.list('charge').find(({ amount }) => amount === 5_000);
    const dispute = billing.stripe.openDispute(charge?.id as string);
    await billing.drained();
    await billing.advanceTo(new Date(billing.service.now.getTime() + 8 * DAY_MS));
    await sweep();
    expect(listPayments(customerId)).to.have.members([5_000, 7_200]);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    await billing.advanceTo(new Date(billing.service.now.getTime() + 60 * MINUTE_MS));
    const [refund] = await billing.service.sql(
      'SELECT r.cause, r.status FROM owed_refunds r JOIN accounts a ON a.id = r.account_id WHERE a.stripe_customer_id = $1',
      [customerId],
    );
    expect(refund).to.deep.equal({ cause: 'erased', status: 'rejected' });
  });

  it('refunds no top-up that was paid before the request, however late its event arrives', async () => {
    const customer = await billing.createCustomer('lite');
    const customerId = billing.customerId(customer);
    const { body } = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    billing.stripe.delivery.hold(customerId);
    billing.stripe.completeCheckout(body.checkout_url);
    // Sooner than the page is synced without its event.
    await moveTo(new Date(billing.service.now.getTime() + 10_000));
    await requestDeletion(customer);
    billing.stripe.delivery.release(customerId);
    await billing.drained();
    await billing.advanceTo(new Date(billing.service.now.getTime() + 8 * DAY_MS));
    await sweep();
    await billing.advanceTo(new Date(billing.service.now.getTime() + 60 * MINUTE_MS));
    expect(listPayments(customerId)).to.have.members([5_000, 7_200]);
  });

  for (const [what, days, refundedOf] of [
    ['refunds a top-up by bank debit that was collected after the request', 2, 5_000],
    ['refunds no top-up by bank debit that was collected before the request, however late its event arrives', 0, 0],
  ] as const) {
    it(what, async () => {
      const customer = await billing.createCustomer('lite');
      const customerId = billing.customerId(customer);
      const { body } = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      billing.stripe.completeCheckout(body.checkout_url, { async: true });
      await billing.drained();
      const collect = () => billing.stripe.settlePayment(body.checkout_url, 'succeeded');
      const moveBy = (ms: number) => moveTo(new Date(billing.service.now.getTime() + ms));
      await moveBy(DAY_MS);
      billing.stripe.delivery.hold(customerId);
      if (days === 0) collect();
      // Sooner than the page is synced without its event.
      await moveBy(10_000);
      await requestDeletion(customer);
      await moveBy(days * DAY_MS + 10_000);
      if (days > 0) collect();
      billing.stripe.delivery.release(customerId);
      await billing.drained();
      await billing.advanceTo(new Date(billing.service.now.getTime() + 8 * DAY_MS));
      await sweep();
      await billing.advanceTo(new Date(billing.service.now.getTime() + 60 * MINUTE_MS));
      expect(listPayments(customerId)).to.have.members([5_000 - refundedOf, 7_200]);
      await billing.service.checkIntegrity();
    });
  }

  it('is refused to staff while the next invoice is a draft, although the subscription is set to end', async () => {
    const { customer, customerId } = await createRenewing();
    billing.stripe.cancelAtPeriodEnd(customerId);
    const id = await readId(customer);
    const error = await captureError(eraseAccount(id));
    expect(error.message).to.match(/^The account has a paid subscription/);
    billing.stripe.cancelNow(customerId);
    await eraseAccount(id);
    await billing.drained();
    expect(listPayments(customerId)).to.deep.equal([34_800]);
  });
});
