import { expect } from 'chai';
import type Stripe from 'stripe';
import { voidCreditNote } from '../fakes/stripe/outOfBand.ts';
import { findCharge } from '../fakes/stripe/reversals.ts';
import { getId } from '../fakes/stripe/store.ts';
import { createProcessor, getChargeId, StripeFixture } from '../harness/stripeFixture.ts';

describe('invoices at Stripe', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('a paid invoice of a subscription', () => {
    it('reports an open or lost dispute, and none after it was won', async () => {
      for (const outcome of ['won', 'lost'] as const) {
        const { subscriptionId, invoiceId } = await fixture.createPaidInvoice();
        const chargeId = getChargeId(fixture.fake, subscriptionId);
        fixture.fake.openDispute(chargeId);
        const open = { openDispute: chargeId, returnedCents: 0, reversedCents: 34_800, returnedAt: null };
        expect(await fixture.readReversals(invoiceId)).to.deep.equal(open);
        const dispute = fixture.fake.closeDispute(chargeId, outcome);
        const lostAt = outcome === 'lost' ? new Date(1_000 * dispute.created) : null;
        const cents = outcome === 'lost' ? 34_800 : 0;
        const closed = { openDispute: null, returnedCents: cents, reversedCents: cents, returnedAt: lostAt };
        expect(await fixture.readReversals(invoiceId)).to.deep.equal(closed);
      }
    });

    it('was returned when the last refund completed the amount, and not by a prevented dispute about an earlier one', async () => {
      const { invoiceId } = await fixture.createPaidInvoice();
      const [first, last] = [fixture.fake.refund(invoiceId, 20_000), fixture.fake.refund(invoiceId)];
      const dispute = fixture.fake.openDispute(invoiceId, { amountCents: 20_000, isPrevented: true });
      Object.assign(first, { created: last.created - 200 });
      Object.assign(dispute, { created: last.created - 100 });
      const { returnedAt } = await fixture.readReversals(invoiceId);
      expect(returnedAt).to.deep.equal(new Date(1_000 * last.created));
    });

    it('is refunded with all of its payments, once', async () => {
      const { invoiceId, invoice } = await fixture.createPaidInvoice();
      const [first] = fixture.fake.store.list('invoice_payment').filter((entry) => getId(entry.invoice) === invoiceId);
      const { customerId } = await fixture.subscribe();
      const other = await fixture.stripe.chargeTopup(await fixture.buildCharge(customerId));
      fixture.fake.store.add<'invoice_payment'>({
        ...structuredClone(first as Stripe.InvoicePayment),
        id: 'inpay_second_part',
        amount_paid: 5_000,
        payment: { type: 'payment_intent', payment_intent: other.intentId },
      });
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('refunded');
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('refunded');
      const { returnedCents } = await fixture.readReversals(invoiceId);
      expect(returnedCents).to.equal(invoice.amount_paid + 5_000);
    });

    it('is refunded after a refund was rejected, though Stripe keeps the rejection under its key', async () => {
      const { invoiceId } = await fixture.createPaidInvoice();
      const charge = findCharge(fixture.fake.store, invoiceId);
      charge.disputed = true;
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('disputed');
      charge.disputed = false;
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('refunded');
      expect(charge.amount_refunded).to.equal(charge.amount);
    });

    it('is refunded without what was credited outside of Stripe, once', async () => {
      const { invoiceId } = await fixture.createPaidInvoice();
      fixture.fake.creditOutOfBand(invoiceId, 10_000);
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('refunded');
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('refunded');
      expect(findCharge(fixture.fake.store, invoiceId).amount_refunded).to.equal(24_800);
      const { invoiceId: credited } = await fixture.createPaidInvoice();
      fixture.fake.creditOutOfBand(credited, 34_800);
      expect(await fixture.stripe.refundInvoice(credited)).to.equal('refunded');
      expect(findCharge(fixture.fake.store, credited).amount_refunded).to.equal(0);
    });

    it('is not reported as refunded if some of it was paid outside of Stripe and not credited there', async () => {
      const { url, customerId } = await fixture.openCheckout();
      fixture.fake.completeCheckout(url, { async: true });
      fixture.fake.payOutOfBand(customerId);
      const invoiceId = getId(fixture.fake.findSubscription(customerId).latest_invoice);
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('incomplete');
      fixture.fake.creditOutOfBand(invoiceId, 34_800);
      expect(await fixture.stripe.refundInvoice(invoiceId)).to.equal('refunded');
    });
  });

  describe('an invoice of a subscription', () => {
    it('counts credit notes of refunds outside of Stripe, except void ones', async () => {
      const { invoiceId } = await fixture.createPaidInvoice();
      const note = fixture.fake.creditOutOfBand(invoiceId, 4_000);
      fixture.fake.creditOutOfBand(invoiceId, 1_000);
      fixture.fake.refund(invoiceId, 800);
      expect(await fixture.stripe.readInvoice(invoiceId)).to.include({ reversedCents: 5_800 });
      voidCreditNote(fixture.fake.store, note);
      expect(await fixture.stripe.readInvoice(invoiceId)).to.include({ reversedCents: 1_800 });
      fixture.fake.creditOutOfBand(invoiceId, 34_000);
      expect(await fixture.stripe.readInvoice(invoiceId)).to.include({ reversedCents: 34_800 });
    });

    it('belongs to a plan by any price that was ever sold, and to none by another price', async () => {
      const { invoice, invoiceId } = await fixture.createPaidInvoice();
      const details = invoice.lines.data[0]?.pricing?.price_details as { price: string };
      for (const [before, isForPlan] of [
        [details.price, true],
        ['price_other', false],
      ] as const) {
        const prices = { lite: ['price_1'], starter: ['price_2'], pro: ['price_3', before], studio: ['price_4'] };
        expect(await createProcessor(fixture.fake, { prices }).readInvoice(invoiceId)).to.include({ isForPlan });
      }
    });
  });
});
