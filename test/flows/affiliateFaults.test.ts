import { expect } from 'chai';
import { affiliateStatus, enrolled, referred } from '../harness/affiliates.ts';
import { type Billing, runJob, startBilling } from '../harness/billing.ts';
import type { Customer } from '../harness/client.ts';
import { eventually } from '../harness/service.ts';
import { idIn } from '../../dev/standins/stripe/books.ts';

const SHARE = { lite: 2_160, pro: 10_440 };

describe('commissions and payouts, where things go wrong', () => {
  let billing: Billing;
  before(async () => {
    billing = await startBilling({ apis: 2, workers: 2 });
    // Nobody waits here for 30 days: what is payable is dated back.
    billing.service.madeUp.add('commissions-are-their-share');
  });
  afterEach(() => {
    billing.stripe.behave();
    billing.stripe.objects.balanceCents = null;
  });
  after(() => billing.stop());

  /** An affiliate whose payouts are enabled, and what tests ask of them. */
  async function anAffiliate() {
    const { affiliate, code } = await enrolled(billing.service.baseUrl);
    const { body } = await affiliate.call('POST', '/api/affiliate/onboarding-link/');
    const accountId = /acct_\w+/.exec(body.url)?.[0] as string;
    billing.stripe.onboard(accountId);
    await billing.quiet();
    const transfers = () =>
      [...billing.stripe.books().transfers.values()]
        .filter((transfer) => transfer.accountId === accountId)
        .map(({ amountCents }) => amountCents);
    const stats = async () => (await affiliateStatus(affiliate)).stats;
    return { affiliate, code, accountId, transfers, stats, bring: () => referred(billing.service.baseUrl, code) };
  }

  const pay = () => runJob(billing, 'payments', 'affiliates.pay');

  /** Lets months pass for what was earned and paid so far. */
  async function later(): Promise<void> {
    await billing.service.sql(`UPDATE commissions SET payable_at = payable_at - interval '3 months'`);
    await billing.service.sql(`UPDATE payouts SET month = month - interval '1 month' WHERE status = 'paid'`);
  }

  /** Lets what waits to be tried again be due. */
  const soon = () => billing.service.sql(`UPDATE payouts SET due_at = now() WHERE status = 'pending'`);

  const invoiceOf = (customer: Customer): string => {
    const { customerId = '' } = billing.stripe.books().customers.find(({ email }) => email === customer.email) ?? {};
    return idIn(billing.stripe.subscriptionOf(customerId).latest_invoice);
  };

  it('events in any order, each several times and several at once, lead to one commission an invoice', async () => {
    const { bring, stats } = await anAffiliate();
    Object.assign(billing.stripe.delivery, { duplicate: 0.7, reorder: true, parallel: 8 });
    const customers = await Promise.all([bring(), bring(), bring()]);
    for (const customer of customers) await billing.subscribe(customer, 'pro');
    expect(await stats()).to.include({ referrals: 3, active: 3, lifetime_earnings_cents: 3 * SHARE.pro });
  });

  it('events that never arrive are fetched, and commissions follow from them', async () => {
    const { bring, stats, affiliate, accountId } = await anAffiliate();
    const customer = await bring();
    billing.stripe.delivery.drop = 1;
    const { body } = await customer.call('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    billing.stripe.completeCheckout(body.checkout_url);
    billing.stripe.onboard(accountId, 'blocked');
    await runJob(billing, 'payments', 'payments.missed');
    await eventually('earned', async () => (await stats()).lifetime_earnings_cents === SHARE.lite);
    await eventually('blocked', async () => !(await affiliateStatus(affiliate)).payout_enabled);
    billing.stripe.refund(invoiceOf(customer));
    await runJob(billing, 'payments', 'payments.missed');
    await eventually('clawed back', async () => (await stats()).lifetime_earnings_cents === 0);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('who comes back from onboarding is looked at right then, and is sent there again when a link was too old', async () => {
    const { affiliate } = await enrolled(billing.service.baseUrl);
    const again = await affiliate.browse('GET', '/account/payouts/again');
    expect(again.status).to.equal(200);
    const link = /http[^"]+\/setup\/e\/acct_\w+/.exec(again.body as string)?.[0] as string;
    billing.stripe.delivery.drop = 1;
    billing.stripe.onboard(link);
    expect(await affiliateStatus(affiliate)).to.include({ payout_enabled: false });
    const returned = await affiliate.browse('GET', '/account/payouts/returned');
    expect([returned.status, returned.headers.get('location')]).to.deep.equal([303, '/account/?done=payouts']);
    expect(await affiliateStatus(affiliate)).to.include({ payout_enabled: true, connect_onboarded: true });
    billing.stripe.delivery.dropped.length = 0;
  });

  it('a refund that nobody has told of is seen before the payout', async () => {
    const { bring, transfers, stats } = await anAffiliate();
    const [kept, refunded] = [await bring(), await bring()];
    await billing.subscribe(kept, 'lite');
    await billing.subscribe(refunded, 'pro');
    await later();
    billing.stripe.delivery.drop = 1;
    billing.stripe.refund(invoiceOf(refunded), 17_400);
    await pay();
    expect(transfers()).to.deep.equal([SHARE.lite + SHARE.pro / 2]);
    expect(await stats()).to.include({ pending_cents: 0 });
    billing.stripe.delivery.sendDropped();
    await billing.quiet();
    expect(await stats()).to.include({ pending_cents: 0 });
  });

  it('what is refunded after it was paid is taken off the next payouts, as long as it takes', async () => {
    const { bring, transfers, stats } = await anAffiliate();
    const customer = await bring();
    await billing.subscribe(customer, 'pro');
    await later();
    await pay();
    expect(transfers()).to.deep.equal([SHARE.pro]);
    billing.stripe.refund(invoiceOf(customer));
    await billing.quiet();
    expect(await stats()).to.include({ lifetime_earnings_cents: 0, pending_cents: -SHARE.pro, paid_cents: SHARE.pro });
    for (const _ of [1, 2]) await billing.subscribe(await bring(), 'lite');
    await later();
    await pay();
    expect(transfers()).to.deep.equal([SHARE.pro]);
    expect(await stats()).to.include({ pending_cents: 2 * SHARE.lite - SHARE.pro });
    await billing.subscribe(await bring(), 'pro');
    await later();
    await pay();
    expect(transfers()).to.have.members([SHARE.pro, 2 * SHARE.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: SHARE.pro + 2 * SHARE.lite });
  });

  it('a dispute takes the commission away while it is open, and gives it back when it is won', async () => {
    const { bring, transfers, stats } = await anAffiliate();
    const customer = await bring();
    await billing.subscribe(customer, 'pro');
    const dispute = billing.stripe.openDispute(invoiceOf(customer));
    await billing.quiet();
    expect(await stats()).to.include({ lifetime_earnings_cents: 0 });
    await later();
    await pay();
    expect(transfers()).to.deep.equal([]);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.quiet();
    expect(await stats()).to.include({ lifetime_earnings_cents: SHARE.pro });
    await pay();
    expect(transfers()).to.deep.equal([SHARE.pro]);
  });

  it('a dispute that is lost after the payout is carried', async () => {
    const { bring, stats } = await anAffiliate();
    const customer = await bring();
    await billing.subscribe(customer, 'lite');
    await later();
    await pay();
    const dispute = billing.stripe.openDispute(invoiceOf(customer));
    billing.stripe.closeDispute(dispute.id, 'lost');
    await billing.quiet();
    expect(await stats()).to.include({ pending_cents: -SHARE.lite, paid_cents: SHARE.lite });
  });

  it('several runs at once over two workers make one transfer for each affiliate', async () => {
    const all = await Promise.all([anAffiliate(), anAffiliate()]);
    for (const { bring } of all) await billing.subscribe(await bring(), 'lite');
    billing.stripe.latencyMs = 30;
    await later();
    await Promise.all(Array.from({ length: 8 }, pay));
    await eventually('paid', async () =>
      (await Promise.all(all.map((one) => one.stats()))).every((s) => s.paid_cents > 0),
    );
    for (const { transfers } of all) expect(transfers()).to.deep.equal([SHARE.lite]);
  });

  for (const how of ['drop after doing', 'drop', 'error', 'error kept'] as const) {
    const isDone = how === 'drop after doing';
    it(`a transfer whose answer is lost (${how}) is looked for, and ${isDone ? 'not made again' : 'made then'}`, async () => {
      const { bring, transfers, stats } = await anAffiliate();
      await billing.subscribe(await bring(), 'lite');
      billing.stripe.faults['transfers.create'] = how;
      await later();
      await pay();
      expect(transfers()).to.deep.equal(isDone ? [SHARE.lite] : []);
      expect(await stats()).to.include({ pending_cents: SHARE.lite, paid_cents: 0 });
      await pay();
      delete billing.stripe.faults['transfers.create'];
      // What it answered under a key it repeats for a day.
      if (how === 'error kept') billing.stripe.clockOffsetMs += 25 * 3_600_000;
      await soon();
      await pay();
      expect(transfers()).to.deep.equal([SHARE.lite]);
      expect(await stats()).to.include({ pending_cents: 0, paid_cents: SHARE.lite });
      billing.stripe.clockOffsetMs = 0;
    });
  }

  it('a transfer that our balance does not cover is asked for again hours later, less what was refunded by then', async () => {
    const { bring, transfers, stats } = await anAffiliate();
    const [kept, refunded] = [await bring(), await bring()];
    await billing.subscribe(kept, 'lite');
    await billing.subscribe(refunded, 'lite');
    billing.stripe.objects.balanceCents = 100;
    await later();
    await pay();
    await pay();
    expect(billing.stripe.requests.filter(({ name }) => name === 'transfers.create').at(-1)?.params).to.include({
      amount: String(2 * SHARE.lite),
    });
    expect(transfers()).to.deep.equal([]);
    billing.stripe.refund(invoiceOf(refunded));
    await billing.quiet();
    billing.stripe.objects.balanceCents = null;
    await pay();
    expect(transfers()).to.deep.equal([]);
    await billing.service.sql(
      `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE status = 'refused'`,
    );
    await pay();
    expect(transfers()).to.deep.equal([SHARE.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: SHARE.lite });
  });

  it('an account that takes no money any more, which nobody has told of, is seen when it refuses', async () => {
    const { bring, transfers, affiliate, accountId } = await anAffiliate();
    await billing.subscribe(await bring(), 'lite');
    billing.stripe.delivery.drop = 1;
    billing.stripe.onboard(accountId, 'blocked');
    billing.stripe.delivery.dropped.length = 0;
    await later();
    await pay();
    expect(transfers()).to.deep.equal([]);
    expect(await affiliateStatus(affiliate)).to.include({ payout_enabled: false, connect_onboarded: true });
  });

  it('nobody is paid while the processor cannot be asked', async () => {
    const { bring, transfers } = await anAffiliate();
    await billing.subscribe(await bring(), 'lite');
    await later();
    billing.stripe.faults.all = 'error';
    await pay();
    expect(transfers()).to.deep.equal([]);
    delete billing.stripe.faults.all;
    await pay();
    expect(transfers()).to.deep.equal([SHARE.lite]);
  });
});
