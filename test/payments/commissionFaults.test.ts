import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type Stripe from 'stripe';
import { voidCreditNote } from '../fakes/stripe/outOfBand.ts';
import { getId } from '../fakes/stripe/store.ts';
import { getAffiliateStatus } from '../harness/affiliates.ts';
import { runJob } from '../harness/jobs.ts';
import { COMMISSION, PayoutFixture } from '../harness/payoutFixture.ts';
import { eventually } from '../harness/testService.ts';
import { readTasks } from '../harness/tasks.ts';

describe('commissions with faults of events and invoices', () => {
  const fixture = new PayoutFixture();
  before(() => fixture.start());
  afterEach(() => fixture.reset());
  after(() => fixture.billing.stop());

  it('creates one commission per invoice for events in any order, duplicated and concurrent', async () => {
    const { refer, stats } = await fixture.createAffiliate();
    Object.assign(fixture.billing.stripe.delivery, { duplicate: 0.7, reorder: true, parallel: 8 });
    const customers = await Promise.all([refer(), refer(), refer()]);
    for (const customer of customers) await fixture.billing.subscribe(customer, 'pro');
    expect(await stats()).to.include({ referrals: 3, active: 3, lifetime_earnings_cents: 3 * COMMISSION.pro });
  });

  it('creates and reverses commissions from fetched events when webhooks never arrive', async () => {
    const { refer, stats, affiliate, accountId } = await fixture.createAffiliate();
    const customer = await refer();
    fixture.billing.stripe.delivery.drop = 1;
    fixture.billing.stripe.completeCheckout(await fixture.billing.openCheckout(customer, 'lite'));
    fixture.billing.stripe.onboard(accountId, 'blocked');
    await runJob(fixture.billing, 'billing', 'paymentEvents.backfill');
    await eventually('earned', async () => (await stats()).lifetime_earnings_cents === COMMISSION.lite);
    await eventually('blocked', async () => !(await getAffiliateStatus(affiliate)).payout_enabled);
    fixture.billing.stripe.refund(fixture.getInvoiceId(customer));
    await runJob(fixture.billing, 'billing', 'paymentEvents.backfill');
    await eventually('clawed back', async () => (await stats()).lifetime_earnings_cents === 0);
    fixture.billing.stripe.delivery.dropped.length = 0;
  });

  it('deducts a refund from the payout although its event was lost', async () => {
    const { refer, transfers, stats } = await fixture.createAffiliate();
    const [kept, refunded] = [await refer(), await refer()];
    await fixture.billing.subscribe(kept, 'lite');
    await fixture.billing.subscribe(refunded, 'pro');
    await fixture.advanceMonths();
    fixture.billing.stripe.delivery.drop = 1;
    fixture.billing.stripe.refund(fixture.getInvoiceId(refunded), 17_400);
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite + COMMISSION.pro / 2]);
    expect(await stats()).to.include({ pending_cents: 0 });
    fixture.billing.stripe.delivery.sendDropped();
    await fixture.billing.drained();
    expect(await stats()).to.include({ pending_cents: 0 });
  });

  it('deducts a refund after the payout from the next payouts until it is settled', async () => {
    const { refer, transfers, stats } = await fixture.createAffiliate();
    const customer = await refer();
    await fixture.billing.subscribe(customer, 'pro');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.pro]);
    fixture.billing.stripe.refund(fixture.getInvoiceId(customer));
    await fixture.billing.drained();
    expect(await stats()).to.include({
      lifetime_earnings_cents: 0,
      pending_cents: -COMMISSION.pro,
      paid_cents: COMMISSION.pro,
    });
    for (const _ of [1, 2]) await fixture.billing.subscribe(await refer(), 'lite');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.pro]);
    expect(await stats()).to.include({ pending_cents: 2 * COMMISSION.lite - COMMISSION.pro });
    await fixture.billing.subscribe(await refer(), 'pro');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.have.members([COMMISSION.pro, 2 * COMMISSION.lite]);
    expect(await stats()).to.include({ pending_cents: 0, paid_cents: COMMISSION.pro + 2 * COMMISSION.lite });
  });

  it('deducts a credit note for a refund outside of the processor, also after the payout', async () => {
    const { refer, transfers, stats } = await fixture.createAffiliate();
    const customer = await refer();
    await fixture.billing.subscribe(customer, 'pro');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    const note = fixture.billing.stripe.creditOutOfBand(fixture.getInvoiceId(customer), 17_400);
    await fixture.billing.drained();
    expect(await stats()).to.include({
      lifetime_earnings_cents: COMMISSION.pro / 2,
      pending_cents: -COMMISSION.pro / 2,
    });
    voidCreditNote(fixture.billing.stripe.store, note);
    await fixture.billing.drained();
    expect(await stats()).to.include({ lifetime_earnings_cents: COMMISSION.pro, pending_cents: 0 });
    expect(transfers()).to.deep.equal([COMMISSION.pro]);
  });

  it('withdraws a commission during a dispute and returns it when the dispute is won', async () => {
    const { refer, transfers, stats } = await fixture.createAffiliate();
    const customer = await refer();
    await fixture.billing.subscribe(customer, 'pro');
    const dispute = fixture.billing.stripe.openDispute(fixture.getInvoiceId(customer));
    await fixture.billing.drained();
    expect(await stats()).to.include({ lifetime_earnings_cents: 0 });
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([]);
    fixture.billing.stripe.closeDispute(dispute.id, 'won');
    await fixture.billing.drained();
    expect(await stats()).to.include({ lifetime_earnings_cents: COMMISSION.pro });
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.pro]);
  });

  it('carries over the loss of a dispute that is lost after the payout', async () => {
    const { refer, stats } = await fixture.createAffiliate();
    const customer = await refer();
    await fixture.billing.subscribe(customer, 'lite');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    const dispute = fixture.billing.stripe.openDispute(fixture.getInvoiceId(customer));
    fixture.billing.stripe.closeDispute(dispute.id, 'lost');
    await fixture.billing.drained();
    expect(await stats()).to.include({ pending_cents: -COMMISSION.lite, paid_cents: COMMISSION.lite });
  });

  it('creates the commission of an invoice whose event was lost, and reads one that earns nothing once', async () => {
    const { refer, stats } = await fixture.createAffiliate();
    const [lost, elsewhere] = [await refer(), await refer()];
    const { stripe } = fixture.billing;
    stripe.delivery.drop = 1;
    const { body } = await lost.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    stripe.completeCheckout(body.checkout_url);
    const other = await elsewhere.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    stripe.completeCheckout(other.body.checkout_url, { async: true });
    stripe.payOutOfBand(fixture.billing.customerId(elsewhere));
    stripe.faults['invoices.retrieve'] = 'error';
    await runJob(fixture.billing, 'billing', 'payments.reconcile');
    expect(await stats()).to.include({ active: 2, lifetime_earnings_cents: 0 });
    stripe.reset();
    stripe.delivery.drop = 1;
    await fixture.billing.service.sql(
      'UPDATE invoices SET commission_due_at = now() WHERE commission_due_at IS NOT NULL',
    );
    await runJob(fixture.billing, 'billing', 'payments.reconcile');
    expect(await stats()).to.include({ lifetime_earnings_cents: COMMISSION.lite });
    const invoices = [lost, elsewhere].map((customer) => fixture.getInvoiceId(customer));
    const reads = () => invoices.map(countReads);
    const before = reads();
    await runJob(fixture.billing, 'billing', 'payments.reconcile');
    expect(reads()).to.deep.equal(before);
    stripe.delivery.dropped.length = 0;
  });

  it('creates the commission of an invoice that was paid before the affiliate was erased, and of none after', async () => {
    const { refer, affiliate } = await fixture.createAffiliate();
    const [before, after] = [await refer(), await refer()];
    const { stripe, service } = fixture.billing;
    stripe.delivery.pause = true;
    const pages = [];
    for (const customer of [before, after])
      pages.push(
        (await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } })).body.checkout_url,
      );
    stripe.completeCheckout(pages[0]);
    await sleep(1_100);
    await service.sql(
      'UPDATE affiliates SET closed_at = now() WHERE account_id = (SELECT id FROM accounts WHERE email = $1)',
      [affiliate.email],
    );
    await sleep(1_100);
    stripe.completeCheckout(pages[1]);
    stripe.delivery.pause = false;
    await fixture.billing.drained();
    const earned = await service.sql(
      'SELECT a.email FROM commissions c JOIN accounts a ON a.id = c.account_id WHERE a.email = ANY ($1)',
      [[before.email, after.email]],
    );
    expect(earned).to.deep.equal([{ email: before.email }]);
    // A payment in the second of the erasure counts as later, so that its commission is not missing.
    const late = fixture.getInvoiceId(after);
    await service.sql(
      `UPDATE affiliates SET closed_at = (SELECT paid_at + interval '0.5 seconds' FROM invoices WHERE stripe_invoice_id = $2)
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [affiliate.email, late],
    );
    const readsBefore = countReads(late);
    await runJob(fixture.billing, 'billing', 'payments.reconcile');
    expect(countReads(late)).to.equal(readsBefore);
  });

  const countReads = (invoiceId: string) =>
    fixture.billing.stripe.requests.filter(({ name, path }) => name === 'invoices.retrieve' && path.endsWith(invoiceId))
      .length;

  it('waits a day for an invoice that cannot be read, then pays without it, and reads the others once', async () => {
    const { refer, transfers, stats } = await fixture.createAffiliate();
    const [kept, lost, negative] = [await refer(), await refer(), await refer()];
    await fixture.billing.subscribe(negative, 'lite');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    fixture.billing.stripe.refund(fixture.getInvoiceId(negative), 3_600);
    await fixture.billing.subscribe(lost, 'pro');
    await fixture.billing.subscribe(kept, 'pro');
    await fixture.advanceMonths();
    const [invoice, keptInvoice] = [fixture.getInvoiceId(lost), fixture.getInvoiceId(kept)];
    fixture.billing.stripe.store.brokenInvoices.add(invoice).add(fixture.getInvoiceId(negative));
    const before = countReads(keptInvoice);
    await fixture.runPayouts();
    await fixture.runPayouts();
    expect(transfers()).to.deep.equal([COMMISSION.lite]);
    expect(countReads(keptInvoice) - before).to.equal(1);
    await fixture.billing.service.sql(
      `UPDATE commissions SET sync_failing_since = sync_failing_since - interval '25 hours'`,
    );
    await fixture.runPayouts();
    // The overpayment is still deducted.
    expect(transfers()).to.have.members([COMMISSION.lite, COMMISSION.pro - COMMISSION.lite / 2]);
    expect(countReads(keptInvoice) - before).to.equal(1);
    expect(await stats()).to.include({ pending_cents: COMMISSION.pro });
    fixture.billing.stripe.store.brokenInvoices.clear();
    await fixture.advanceMonths();
    await fixture.runPayouts();
    expect(transfers()).to.have.members([COMMISSION.lite, COMMISSION.pro - COMMISSION.lite / 2, COMMISSION.pro]);
    expect(await stats()).to.include({ pending_cents: 0 });
  });

  it('does not read invoices again for an affiliate whose deductions exceed the earnings', async () => {
    const { refer } = await fixture.createAffiliate();
    const [refunded, small] = [await refer(), await refer()];
    await fixture.billing.subscribe(refunded, 'pro');
    await fixture.advanceMonths();
    await fixture.runPayouts();
    fixture.billing.stripe.refund(fixture.getInvoiceId(refunded));
    await fixture.billing.drained();
    await fixture.billing.subscribe(small, 'lite');
    await fixture.advanceMonths();
    const before = [countReads(fixture.getInvoiceId(refunded)), countReads(fixture.getInvoiceId(small))];
    await fixture.runPayouts();
    expect([countReads(fixture.getInvoiceId(refunded)), countReads(fixture.getInvoiceId(small))]).to.deep.equal(before);
  });

  it('earns nothing for invoices in another currency, without a plan, paid elsewhere or too large, and retries their events until fixed', async () => {
    const { refer, stats } = await fixture.createAffiliate();
    const changes: ((invoice: Stripe.Invoice) => void)[] = [
      (invoice) => Object.assign(invoice, { currency: 'krw', amount_paid: 47_000_000 }),
      (invoice) => Object.assign(invoice.lines.data[0]?.pricing?.price_details ?? {}, { price: 'price_other' }),
      (invoice) => {
        invoice.amount_paid = 3_000_000_000;
        const part = fixture.billing.stripe.store
          .list('invoice_payment')
          .find((entry) => getId(entry.invoice) === invoice.id);
        Object.assign(part as object, { amount_paid: 3_000_000_000 });
      },
    ];
    const repairs: (() => void)[] = [];
    for (const change of changes) {
      const customer = await refer();
      fixture.billing.stripe.delivery.drop = 1;
      fixture.billing.stripe.completeCheckout(await fixture.billing.openCheckout(customer, 'lite'));
      const invoice = fixture.billing.stripe.store.get('invoice', fixture.getInvoiceId(customer));
      const part = fixture.billing.stripe.store
        .list('invoice_payment')
        .find((entry) => getId(entry.invoice) === invoice.id);
      const before = structuredClone([invoice, part]);
      repairs.push(() => [invoice, part].forEach((object, index) => Object.assign(object as object, before[index])));
      change(invoice);
      fixture.billing.stripe.delivery.drop = 0;
      fixture.billing.stripe.delivery.sendDropped();
      await fixture.billing.eventsAttempted();
      expect((await customer.request('GET', '/api/billing/status/')).body.status).to.equal('active');
    }
    const customer = await refer();
    fixture.billing.stripe.completeCheckout(await fixture.billing.openCheckout(customer, 'lite'), { async: true });
    fixture.billing.stripe.payOutOfBand(fixture.billing.customerId(customer));
    await fixture.billing.eventsAttempted();
    expect(await stats()).to.include({ referrals: 4, active: 4, lifetime_earnings_cents: 0 });
    const waiting = await readTasks(fixture.billing.service, 'payment.event');
    for (const problem of [
      'it is in an unsupported currency',
      'none of its prices is in STRIPE_PRICE_',
      '3000000000 cents exceed',
    ]) {
      expect(waiting.map((row) => row.last_error).join()).to.include(problem);
    }
    for (const repair of repairs) repair();
    await fixture.billing.retryEvents();
    expect(await stats()).to.include({ lifetime_earnings_cents: 3 * COMMISSION.lite });
  });
});
