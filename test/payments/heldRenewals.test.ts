import { expect } from 'chai';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { requestAccountDeletion, undoAccountDeletion } from '../../shared/domain/privacy/deletion.ts';
import { DAY_MS, HOUR_MS } from '../../shared/spec/durations.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runDueTasks } from '../harness/tasks.ts';

describe('renewals that are held or stay unpaid', () => {
  const billing = useBillingService({ startAt: new Date('2027-03-10T10:00:00Z') });
  afterEach(() => billing.stripe.reset());

  const findYearEnd = (customer: TestCustomer) =>
    1_000 * (billing.subscription(customer).items.data[0]?.current_period_end as number);
  const advance = (time: number) => billing.advanceTo(new Date(time));
  const countCharges = (customer: TestCustomer) => {
    const id = billing.customerId(customer);
    return billing.stripe.store
      .list('charge')
      .filter(({ customer: owner, status }) => owner === id && status === 'succeeded').length;
  };
  const priceNow = (customer: TestCustomer) => billing.subscription(customer).items.data[0]?.price.id;
  const lastAmount = (customer: TestCustomer) =>
    billing.stripe.store.get('invoice', billing.lastInvoice(customer)).amount_paid;
  const readRow = async ({ email }: TestCustomer) =>
    (
      await billing.service.sql(
        `SELECT s.status, s.past_due_since, a.spendable_until, a.balance, a.plan_slug FROM subscriptions s
           JOIN accounts a ON a.id = s.account_id WHERE a.email = $1`,
        [email],
      )
    )[0];

  for (const outcome of ['won', 'lost'] as const) {
    it(`do not charge another year while the paid one is disputed; the dispute is ${outcome}`, async () => {
      const customer = await billing.createCustomer('lite');
      const yearEnd = findYearEnd(customer);
      await advance(yearEnd - 2 * DAY_MS);
      const dispute = billing.stripe.openDispute(billing.lastInvoice(customer));
      await billing.drained();
      expect([(await readRow(customer)).status, billing.subscription(customer).cancel_at_period_end]).to.deep.equal([
        'unpaid',
        true,
      ]);
      if (outcome === 'won') {
        billing.stripe.closeDispute(dispute.id, 'won');
        await billing.drained();
        expect(billing.subscription(customer).cancel_at_period_end).to.equal(false);
        await advance(yearEnd + 2 * HOUR_MS);
        expect([countCharges(customer), (await readRow(customer)).status]).to.deep.equal([2, 'active']);
        return;
      }
      await advance(yearEnd + 2 * HOUR_MS);
      billing.stripe.closeDispute(dispute.id, 'lost');
      await billing.drained();
      expect([countCharges(customer), (await readRow(customer)).status]).to.deep.equal([1, 'canceled']);
    });
  }

  for (const outcome of ['won', 'lost'] as const) {
    it(`do not charge the plan of a scheduled downgrade while the year is disputed; the dispute is ${outcome}`, async () => {
      const customer = await billing.createCustomer('pro');
      expect(billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'lite'))).to.equal('scheduled');
      const yearEnd = findYearEnd(customer);
      await advance(yearEnd - 2 * DAY_MS);
      const dispute = billing.stripe.openDispute(billing.lastInvoice(customer));
      await billing.drained();
      const { schedule, cancel_at_period_end: isHeld } = billing.subscription(customer);
      expect([schedule, isHeld, priceNow(customer)]).to.deep.equal([null, true, billing.stripe.prices.pro]);
      if (outcome === 'lost') {
        await advance(yearEnd + 2 * HOUR_MS);
        billing.stripe.closeDispute(dispute.id, 'lost');
        await billing.drained();
        expect([countCharges(customer), (await readRow(customer)).status]).to.deep.equal([1, 'canceled']);
        return;
      }
      billing.stripe.closeDispute(dispute.id, 'won');
      await billing.drained();
      expect([billing.subscription(customer).metadata, priceNow(customer)]).to.deep.equal([
        {
          account_uuid: billing.subscription(customer).metadata['account_uuid'],
          price_from: `${billing.stripe.prices.lite} ${yearEnd / 1_000}`,
        },
        billing.stripe.prices.lite,
      ]);
      expect(await readRow(customer)).to.include({ status: 'active', plan_slug: 'pro' });
      await advance(yearEnd + 2 * HOUR_MS);
      expect([lastAmount(customer), countCharges(customer)]).to.deep.equal([7_200, 2]);
      expect(await readRow(customer)).to.include({ status: 'active', plan_slug: 'lite' });
    });
  }

  it('are those of the paid plan if an upgrade was refunded after a held downgrade was resumed', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'lite'));
    const yearEnd = findYearEnd(customer);
    await advance(yearEnd - 2 * DAY_MS);
    const dispute = billing.stripe.openDispute(billing.lastInvoice(customer));
    await billing.drained();
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'studio'));
    await billing.drained();
    expect(await readRow(customer)).to.include({ plan_slug: 'studio' });
    billing.stripe.refund(billing.lastInvoice(customer));
    await billing.drained();
    expect([priceNow(customer), (await readRow(customer)).plan_slug]).to.deep.equal([billing.stripe.prices.pro, 'pro']);
  });

  it('keep a scheduled downgrade to a plan of which a payment was lost', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'starter'));
    await billing.drained();
    const starter = billing.lastInvoice(customer);
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'pro'));
    await billing.drained();
    expect(billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'starter'))).to.equal('scheduled');
    await advance(findYearEnd(customer) - 2 * DAY_MS);
    const dispute = billing.stripe.openDispute(starter);
    await billing.drained();
    billing.stripe.closeDispute(dispute.id, 'lost');
    await billing.drained();
    await billing.drained();
    expect(priceNow(customer)).to.equal(billing.stripe.prices.starter);
    expect(await readRow(customer)).to.include({ status: 'active', plan_slug: 'pro' });
  });

  it('are held again when a process dies between the requests that hold the renewal of a scheduled downgrade', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.confirmPlanSwitch(await billing.openCheckout(customer, 'lite'));
    await advance(findYearEnd(customer) - 2 * DAY_MS);
    // As the first two of the three requests leave it.
    Object.assign(billing.subscription(customer).metadata, {
      renewal_held: 'dispute',
      renewal_price: billing.stripe.prices.lite,
    });
    billing.stripe.store.scheduledPrices.delete(billing.subscription(customer).id);
    billing.subscription(customer).schedule = null;
    const dispute = billing.stripe.openDispute(billing.lastInvoice(customer));
    await billing.drained();
    expect(billing.subscription(customer).cancel_at_period_end).to.equal(true);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    expect(priceNow(customer)).to.equal(billing.stripe.prices.lite);
  });

  it('stay held while the account is being deleted, and are resumed after an undo', async () => {
    const [deleted, undone] = [await billing.createCustomer('lite'), await billing.createCustomer('lite')];
    const yearEnd = findYearEnd(undone);
    await advance(yearEnd - 2 * DAY_MS);
    const ids: number[] = [];
    for (const customer of [deleted, undone]) {
      const dispute = billing.stripe.openDispute(billing.lastInvoice(customer));
      await billing.drained();
      const [{ id }] = await billing.service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]);
      ids.push(Number(id));
      await requestAccountDeletion(buildServiceCaller(Number(id)), customer.email, SERVICE_ORIGIN);
      await runDueTasks(billing.service);
      billing.stripe.closeDispute(dispute.id, 'won');
      await billing.drained();
      expect(billing.subscription(customer).cancel_at_period_end).to.equal(true);
    }
    await undoAccountDeletion(buildServiceCaller(ids[1] as number), SERVICE_ORIGIN);
    await runDueTasks(billing.service);
    expect(billing.subscription(undone).cancel_at_period_end).to.equal(false);
    await advance(yearEnd + 2 * HOUR_MS);
    expect([countCharges(deleted), countCharges(undone)]).to.deep.equal([1, 2]);
  });

  it('stay canceled after a dispute that is won, if the customer had canceled before', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.cancelAtPeriodEnd(billing.customerId(customer));
    await advance(findYearEnd(customer) - 2 * DAY_MS);
    const dispute = billing.stripe.openDispute(billing.lastInvoice(customer));
    await billing.drained();
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    expect(billing.subscription(customer).cancel_at_period_end).to.equal(true);
  });

  it('are past due a day after the end of the year while the invoice stays a draft', async () => {
    const customer = await billing.createCustomer('lite');
    const yearEnd = findYearEnd(customer);
    billing.stripe.leaveDraft(billing.customerId(customer));
    await advance(yearEnd + 2 * HOUR_MS);
    expect((await readRow(customer)).status).to.equal('active');
    await advance(yearEnd + DAY_MS + 2 * HOUR_MS);
    await billing.maintain();
    const row = await readRow(customer);
    expect([row.status, row.past_due_since === null]).to.deep.equal(['past_due', false]);
    expect(row.spendable_until.getTime() - row.past_due_since.getTime()).to.equal(14 * DAY_MS);
    await advance(yearEnd + 17 * DAY_MS);
    await billing.drained();
    expect([(await readRow(customer)).status, countCharges(customer)]).to.deep.equal(['canceled', 1]);
  });
});
