import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type Stripe from 'stripe';
import { getAffiliateStatus, enrollAffiliate, signUpReferred } from '../harness/affiliates.ts';
import { type BillingService, runJob, startBillingService } from '../harness/billingService.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually } from '../harness/testService.ts';
import { getId } from '../fakes/stripe/store.ts';
import { voidCreditNote } from '../fakes/stripe/outOfBand.ts';

const SHARE = { lite: 2_160, pro: 10_440 };

describe('commissions and payouts, where things go wrong', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService({ apis: 2, workers: 2 });
    // Nobody waits here for 30 days: what is payable is dated back.
    billing.service.fabricated.add('commissions-are-their-share');
  });
  afterEach(() => {
    billing.stripe.reset();
    billing.stripe.store.balanceCents = null;
    billing.stripe.store.isConnectEnabled = true;
  });
  after(() => billing.stop());

  /** An affiliate whose payouts are enabled, and what tests ask of them. */
  async function anAffiliate() {
    const { affiliate, code } = await enrollAffiliate(billing.service.baseUrl);
    const { body } = await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    const accountId = /acct_\w+/.exec(body.url)?.[0] as string;
    billing.stripe.onboard(accountId);
    await billing.drained();
    const transfers = () =>
      [...billing.stripe.summarize().transfers.values()]
        .filter((transfer) => transfer.accountId === accountId)
        .map(({ amountCents }) => amountCents);
    const stats = async () => (await getAffiliateStatus(affiliate)).stats;
    return { affiliate, code, accountId, transfers, stats, bring: () => signUpReferred(billing.service.baseUrl, code) };
  }

  const pay = () => runJob(billing, 'billing', 'payouts.run');

  let calls = 0;

  /** Lets months pass for what was earned and paid so far; each time others, as a month has one payout. */
  async function later(): Promise<void> {
    calls += 1;
    await billing.service.sql(
      `UPDATE commissions SET payable_at = payable_at - make_interval(months => $1), synced_at = synced_at - interval '1 day'`,
      [calls + 3],
    );
    await billing.service.sql(
      `UPDATE payouts SET month = month - make_interval(months => $1)
        WHERE status = 'paid' AND month = date_trunc('month', now() AT TIME ZONE 'UTC')`,
      [calls],
    );
  }

  /** Lets what waits to be tried again be due. */
  const soon = () => billing.service.sql(`UPDATE payouts SET next_attempt_at = now() WHERE status = 'pending'`);

  const invoiceOf = (customer: TestCustomer): string => {
    const { customerId = '' } =
      billing.stripe.summarize().customers.find(({ email }) => email === customer.email) ?? {};
    return getId(billing.stripe.findSubscription(customerId).latest_invoice);
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
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    billing.stripe.completeCheckout(body.checkout_url);
    billing.stripe.onboard(accountId, 'blocked');
    await runJob(billing, 'billing', 'paymentEvents.backfill');
    await eventually('earned', async () => (await stats()).lifetime_earnings_cents === SHARE.lite);
    await eventually('blocked', async () => !(await getAffiliateStatus(affiliate)).payout_enabled);
    billing.stripe.refund(invoiceOf(customer));
    await runJob(billing, 'billing', 'paymentEvents.backfill');
    await eventually('clawed back', async () => (await stats()).lifetime_earnings_cents === 0);
    billing.stripe.delivery.dropped.length = 0;
  });

  it('who comes back from onboarding is looked at right then, and is sent there again when a link was too old', async () => {
    const { affiliate } = await enrollAffiliate(billing.service.baseUrl);
    expect((await affiliate.request('POST', '/api/affiliate/onboarding-link/')).status).to.equal(200);
    const again = await affiliate.requestWithSession('GET', '/account/payouts/again');
    expect(again.status).to.equal(200);
    const link = /http[^"]+\/setup\/e\/acct_\w+/.exec(again.body as string)?.[0] as string;
    billing.stripe.delivery.drop = 1;
    billing.stripe.onboard(link);
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: false });
    const returned = await affiliate.requestWithSession('GET', '/account/payouts/returned');
    expect([returned.status, returned.headers.get('location')]).to.deep.equal([303, '/account/?done=payouts']);
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: true, connect_onboarded: true });
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
    await billing.drained();
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
    await billing.drained();
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

  it('what is given back outside of the processor, as a credit note says, is taken off, also after it was paid', async () => {
    const { bring, transfers, stats } = await anAffiliate();
    const customer = await bring();
    await billing.subscribe(customer, 'pro');
    await later();
    await pay();
    const note = billing.stripe.creditOutOfBand(invoiceOf(customer), 17_400);
    await billing.drained();
    expect(await stats()).to.include({ lifetime_earnings_cents: SHARE.pro / 2, pending_cents: -SHARE.pro / 2 });
    voidCreditNote(billing.stripe.store, note);
    await billing.drained();
    expect(await stats()).to.include({ lifetime_earnings_cents: SHARE.pro, pending_cents: 0 });
    expect(transfers()).to.deep.equal([SHARE.pro]);
  });

  it('a dispute takes the commission away while it is open, and gives it back when it is won', async () => {
    const { bring, transfers, stats } = await anAffiliate();
    const customer = await bring();
    await billing.subscribe(customer, 'pro');
    const dispute = billing.stripe.openDispute(invoiceOf(customer));
    await billing.drained();
    expect(await stats()).to.include({ lifetime_earnings_cents: 0 });
    await later();
    await pay();
    expect(transfers()).to.deep.equal([]);
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
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
    await billing.drained();
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
    billing.stripe.store.balanceCents = 100;
    await later();
    await pay();
    await pay();
    expect(billing.stripe.requests.filter(({ name }) => name === 'transfers.create').at(-1)?.params).to.include({
      amount: String(2 * SHARE.lite),
    });
    expect(transfers()).to.deep.equal([]);
    billing.stripe.refund(invoiceOf(refunded));
    await billing.drained();
    billing.stripe.store.balanceCents = null;
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
    expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: false, connect_onboarded: true });
  });

  const looksAt = (invoiceId: string) =>
    billing.stripe.requests.filter(({ name, path }) => name === 'invoices.retrieve' && path.endsWith(invoiceId)).length;

  it('an invoice that cannot be looked at is waited for a day, and then left out; the others are looked at once', async () => {
    const { bring, transfers, stats } = await anAffiliate();
    const [kept, lost, negative] = [await bring(), await bring(), await bring()];
    await billing.subscribe(negative, 'lite');
    await later();
    await pay();
    expect(transfers()).to.deep.equal([SHARE.lite]);
    billing.stripe.refund(invoiceOf(negative), 3_600);
    await billing.subscribe(lost, 'pro');
    await billing.subscribe(kept, 'pro');
    await later();
    const [invoice, keptInvoice] = [invoiceOf(lost), invoiceOf(kept)];
    billing.stripe.store.brokenInvoices.add(invoice).add(invoiceOf(negative));
    const before = looksAt(keptInvoice);
    await pay();
    await pay();
    expect(transfers()).to.deep.equal([SHARE.lite]);
    expect(looksAt(keptInvoice) - before).to.equal(1);
    await billing.service.sql(`UPDATE commissions SET sync_failing_since = sync_failing_since - interval '25 hours'`);
    await pay();
    // What was paid too much is taken off nonetheless.
    expect(transfers()).to.have.members([SHARE.lite, SHARE.pro - SHARE.lite / 2]);
    expect(looksAt(keptInvoice) - before).to.equal(1);
    expect(await stats()).to.include({ pending_cents: SHARE.pro });
    billing.stripe.store.brokenInvoices.clear();
    await later();
    await pay();
    expect(transfers()).to.have.members([SHARE.lite, SHARE.pro - SHARE.lite / 2, SHARE.pro]);
    expect(await stats()).to.include({ pending_cents: 0 });
  });

  it('who has more to be taken off than to be paid is not looked at over and over', async () => {
    const { bring } = await anAffiliate();
    const [refunded, small] = [await bring(), await bring()];
    await billing.subscribe(refunded, 'pro');
    await later();
    await pay();
    billing.stripe.refund(invoiceOf(refunded));
    await billing.drained();
    await billing.subscribe(small, 'lite');
    await later();
    const before = [looksAt(invoiceOf(refunded)), looksAt(invoiceOf(small))];
    await pay();
    expect([looksAt(invoiceOf(refunded)), looksAt(invoiceOf(small))]).to.deep.equal(before);
  });

  it('invoices in another currency, for none of our plans, paid elsewhere or out of all bounds earn nothing, and their events wait until that is mended', async () => {
    const { bring, stats } = await anAffiliate();
    const changes: ((invoice: Stripe.Invoice) => void)[] = [
      (invoice) => Object.assign(invoice, { currency: 'krw', amount_paid: 47_000_000 }),
      (invoice) => Object.assign(invoice.lines.data[0]?.pricing?.price_details ?? {}, { price: 'price_other' }),
      (invoice) => {
        invoice.amount_paid = 3_000_000_000;
        const part = billing.stripe.store.list('invoice_payment').find((entry) => getId(entry.invoice) === invoice.id);
        Object.assign(part as object, { amount_paid: 3_000_000_000 });
      },
    ];
    const mend: (() => void)[] = [];
    for (const change of changes) {
      const customer = await bring();
      billing.stripe.delivery.drop = 1;
      const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
      billing.stripe.completeCheckout(body.checkout_url);
      const invoice = billing.stripe.store.get('invoice', invoiceOf(customer));
      const part = billing.stripe.store.list('invoice_payment').find((entry) => getId(entry.invoice) === invoice.id);
      const before = structuredClone([invoice, part]);
      mend.push(() => [invoice, part].forEach((object, index) => Object.assign(object as object, before[index])));
      change(invoice);
      billing.stripe.delivery.drop = 0;
      billing.stripe.delivery.sendDropped();
      await billing.eventsAttempted();
      expect((await customer.request('GET', '/api/billing/status/')).body.status).to.equal('active');
    }
    const customer = await bring();
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    billing.stripe.completeCheckout(body.checkout_url, { async: true });
    billing.stripe.payOutOfBand(billing.customerId(customer));
    await billing.eventsAttempted();
    expect(await stats()).to.include({ referrals: 4, active: 4, lifetime_earnings_cents: 0 });
    const waiting = await billing.service.sql('SELECT problem FROM payment_events WHERE processed_at IS NULL');
    for (const problem of ['it is in another currency', 'no price of STRIPE_PRICE_', '3000000000 cents are more']) {
      expect(waiting.map((row) => row.problem).join()).to.include(problem);
    }
    for (const repair of mend) repair();
    await billing.retryEvents();
    expect(await stats()).to.include({ lifetime_earnings_cents: 3 * SHARE.lite });
  });

  for (const how of ['deleteCustomer', 'disconnect'] as const) {
    it(`a connected account that is gone (${how}) is made anew, once; a payout to it is put back and paid to the new one`, async () => {
      const { affiliate, bring, accountId, stats } = await anAffiliate();
      await billing.subscribe(await bring(), 'lite');
      await later();
      billing.stripe[how](accountId);
      await pay();
      expect(await stats()).to.include({ pending_cents: SHARE.lite, paid_cents: 0 });
      expect(await getAffiliateStatus(affiliate)).to.include({ payout_enabled: false, connect_onboarded: false });
      const [refused] = await billing.service.sql(
        `SELECT p.status FROM payouts p JOIN affiliates a ON a.account_id = p.affiliate_id WHERE a.connect_account_id = $1`,
        [accountId],
      );
      expect(refused).to.deep.equal({ status: 'refused' });
      // From a page that was open still nothing is made.
      const again = await affiliate.requestWithSession('GET', '/account/payouts/again');
      expect([again.status, again.headers.get('location')]).to.deep.equal([303, '/account/']);
      const links = await Promise.all(
        [1, 2, 3].map(() => affiliate.request('POST', '/api/affiliate/onboarding-link/')),
      );
      const opened = links.filter(({ status }) => status === 200);
      expect(opened).to.not.have.length(0);
      const ids = new Set(opened.map(({ body }) => /acct_\w+/.exec(body.url)?.[0]));
      expect(ids.size).to.equal(1);
      expect(ids).to.not.include(accountId);
      billing.stripe.onboard(opened[0]?.body.url);
      await billing.drained();
      await billing.service.sql(
        `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE status = 'refused'`,
      );
      await pay();
      expect(await stats()).to.include({ pending_cents: 0, paid_cents: SHARE.lite });
    });
  }

  it('onboarding is a 503 with a sentence where Connect is not switched on, and the operator is told', async () => {
    const { affiliate } = await enrollAffiliate(billing.service.baseUrl);
    billing.stripe.store.isConnectEnabled = false;
    const answer = await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    expect(answer.status).to.equal(503);
    expect(answer.body.error?.message ?? answer.body.detail).to.include('Payouts cannot be set up at the moment');
    const told = /^(?=.*the payment processor refuses).*signed up for Connect/m;
    await Promise.any(billing.service.apis.map((api) => api.waitForLog(told)));
    billing.stripe.store.isConnectEnabled = true;
    expect((await affiliate.request('POST', '/api/affiliate/onboarding-link/')).status).to.equal(200);
  });

  it('a connected account that cannot be looked at waits its turn behind the others', async () => {
    const { affiliate } = await enrollAffiliate(billing.service.baseUrl);
    await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    const { code } = await getAffiliateStatus(affiliate);
    await billing.service.sql(`UPDATE affiliates SET synced_at = synced_at - interval '2 hours' WHERE code = $1`, [
      code,
    ]);
    billing.stripe.faults['accounts.retrieve'] = 'error';
    await pay();
    const [{ fresh }] = await billing.service.sql(
      `SELECT synced_at > now() - interval '1 hour' AS fresh FROM affiliates WHERE code = $1`,
      [code],
    );
    expect(fresh).to.equal(true);
  });

  it('a link of another site to onboarding makes nothing at the processor', async () => {
    const { affiliate } = await enrollAffiliate(billing.service.baseUrl);
    const before = billing.stripe.store.list('account').length;
    const again = await affiliate.requestWithSession('GET', '/account/payouts/again');
    expect([again.status, again.headers.get('location')]).to.deep.equal([303, '/account/']);
    const stranger = await signUpReferred(billing.service.baseUrl, (await getAffiliateStatus(affiliate)).code);
    expect((await stranger.requestWithSession('GET', '/account/payouts/again')).status).to.equal(303);
    expect(billing.stripe.store.list('account')).to.have.length(before);
  });

  /** What another worker does that has taken a payout up and is refused. */
  async function refuseMeanwhile(accountId: string): Promise<string> {
    const [{ uuid }] = await billing.service.sql(
      `WITH refused AS (
         UPDATE payouts SET status = 'refused', completed_at = now() WHERE status = 'pending' AND connect_account_id = $1 RETURNING uuid
       ), back AS (
         UPDATE commissions c SET settled_cents = c.settled_cents - i.amount_cents
           FROM payout_items i JOIN refused ON refused.uuid = i.payout_uuid WHERE c.id = i.commission_id
       ) SELECT uuid FROM refused`,
      [accountId],
    );
    return uuid;
  }

  for (const isTakenAgain of [false, true]) {
    it(`a transfer that succeeds after another worker was refused counts${isTakenAgain ? ', unless the month has another payout: then the operator is told' : ''}`, async () => {
      const { bring, transfers, stats, accountId } = await anAffiliate();
      await billing.subscribe(await bring(), 'lite');
      await later();
      billing.stripe.latencyMs = 700;
      const asked = () => billing.stripe.requests.filter(({ name }) => name === 'transfers.create').length;
      const before = asked();
      const paying = pay();
      await eventually('the transfer is asked for', async () => asked() > before);
      const uuid = await refuseMeanwhile(accountId);
      const other = randomUUID();
      if (isTakenAgain) {
        await billing.service.sql(
          `INSERT INTO payouts (uuid, affiliate_id, month, status, amount_cents, next_attempt_at, created_at)
           SELECT $1, affiliate_id, month, 'pending', 1, now() + interval '1 day', now() FROM payouts WHERE uuid = $2`,
          [other, uuid],
        );
      }
      await paying;
      expect(transfers()).to.deep.equal([SHARE.lite]);
      if (isTakenAgain) {
        const told = new RegExp(`^(?=.*${uuid}).*its month has another one: reverse this transfer`, 'm');
        await Promise.any(billing.service.workers.map((worker) => worker.waitForLog(told)));
        const transfer = billing.stripe.store.list('transfer').find(({ metadata }) => metadata['payout_uuid'] === uuid);
        billing.stripe.store.remove(transfer?.id ?? '');
        await billing.service.sql('DELETE FROM payouts WHERE uuid = $1', [other]);
        return;
      }
      expect(await stats()).to.include({ pending_cents: 0, paid_cents: SHARE.lite });
      billing.stripe.latencyMs = 0;
      await billing.service.sql(`UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE uuid = $1`, [
        uuid,
      ]);
      await pay();
      expect(transfers()).to.deep.equal([SHARE.lite]);
    });
  }

  it('finds a transfer that succeeded after another worker was refused and before its own worker died', async () => {
    const { bring, transfers, stats, accountId } = await anAffiliate();
    await billing.subscribe(await bring(), 'lite');
    await later();
    billing.stripe.faults['transfers.create'] = 'drop after doing';
    await pay();
    const uuid = await refuseMeanwhile(accountId);
    delete billing.stripe.faults['transfers.create'];
    await billing.service.sql(`UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE uuid = $1`, [
      uuid,
    ]);
    await pay();
    expect(transfers()).to.deep.equal([SHARE.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: SHARE.lite });
  });

  it('opens no payout while the outcome of one of an earlier month is unknown', async () => {
    const { bring, transfers, stats, accountId } = await anAffiliate();
    const [kept, refunded] = [await bring(), await bring()];
    await billing.subscribe(kept, 'lite');
    await billing.subscribe(refunded, 'lite');
    await later();
    billing.stripe.faults['transfers.create'] = 'error';
    await pay();
    const payouts = () =>
      billing.service.sql('SELECT status, amount_cents FROM payouts WHERE connect_account_id = $1', [accountId]);
    expect(await payouts()).to.deep.equal([{ status: 'pending', amount_cents: 2 * SHARE.lite }]);
    await billing.service.sql(`UPDATE payouts SET month = month - interval '1 month' WHERE connect_account_id = $1`, [
      accountId,
    ]);
    billing.stripe.refund(invoiceOf(refunded));
    await billing.drained();
    await billing.subscribe(await bring(), 'pro');
    await later();
    await pay();
    expect(await payouts()).to.have.length(1);
    delete billing.stripe.faults['transfers.create'];
    billing.stripe.store.balanceCents = 0;
    await soon();
    await pay();
    expect((await payouts())[0]).to.include({ status: 'refused' });
    billing.stripe.store.balanceCents = null;
    await billing.service.sql(
      `UPDATE payouts SET completed_at = completed_at - interval '7 hours' WHERE status = 'refused'`,
    );
    await pay();
    expect(transfers()).to.deep.equal([SHARE.lite + SHARE.pro]);
    expect(await stats()).to.include({ pending_cents: 0 });
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
