import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import Stripe from 'stripe';
import {
  type PaidInvoice,
  ProcessorError,
  type ProcessorPayment,
  type ProcessorSubscription,
} from '../../shared/gateways/payments/paymentProcessor.ts';
import { EVENT_TYPES } from '../../shared/gateways/payments/eventTypes.ts';
import {
  createStripeClient,
  type StripeOptions,
  type StripeProcessor,
  createStripeProcessor,
} from '../../shared/gateways/payments/stripeProcessor.ts';
import { PLANS, type PlanSlug } from '../../shared/spec/plans.ts';
import { BUNDLE } from '../harness/bundle.ts';
import { captureError } from '../harness/expectRejection.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { readTextBody } from '../fakes/misbehave.ts';
import { signPayload } from '../fakes/stripe/events.ts';
import { getId } from '../fakes/stripe/store.ts';
import { voidCreditNote } from '../fakes/stripe/outOfBand.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { findCharge } from '../fakes/stripe/reversals.ts';

const ADDRESSES = { successUrl: 'https://example.com/success', cancelUrl: 'https://example.com/canceled' };
const YEAR_SECONDS = 365 * 86_400;

describe('payments by Stripe', () => {
  let standIn: FakeStripe;
  let stripe: StripeProcessor;
  before(async () => {
    standIn = await new FakeStripe().start();
    stripe = createProcessor(standIn);
  });
  afterEach(() => standIn.reset());
  after(() => standIn.stop());

  async function newCustomer(): Promise<{ accountUuid: string; customerId: string }> {
    const accountUuid = randomUUID();
    const customerId = await stripe.createCustomer({ accountUuid, email: `${accountUuid}@example.com` });
    return { accountUuid, customerId };
  }

  async function openCheckout(plan: PlanSlug = 'pro', key: string = randomUUID()) {
    const customer = await newCustomer();
    const url = await stripe.openSubscriptionCheckout(
      { ...customer, plan, metadata: { note: 'mine' } },
      ADDRESSES,
      key,
    );
    return { ...customer, url };
  }

  async function subscribed(plan: PlanSlug = 'pro') {
    const opened = await openCheckout(plan);
    const subscriptionId = standIn.completeCheckout(opened.url).subscription as string;
    return { ...opened, subscriptionId };
  }

  async function read(subscriptionId: string): Promise<ProcessorSubscription> {
    return (await stripe.readSubscription(subscriptionId)) as ProcessorSubscription;
  }

  async function readPayment(intentId: string): Promise<ProcessorPayment> {
    return (await stripe.readPayment(intentId)) as ProcessorPayment;
  }

  async function chargeFor(customerId: string, topupUuid: string = randomUUID()) {
    const paymentMethodId = (await stripe.findPaymentMethod(customerId)) as string;
    return { customerId, paymentMethodId, topupUuid, amountCents: 5_000 };
  }

  async function toppedUp() {
    const customer = await subscribed();
    const order = await chargeFor(customer.customerId);
    const { intentId } = await stripe.chargeTopup(order);
    const chargeId = standIn.store.get('payment_intent', intentId).latest_charge as string;
    return { ...customer, ...order, intentId, chargeId };
  }

  async function paidInvoice(plan: PlanSlug = 'pro') {
    const { subscriptionId, ...customer } = await subscribed(plan);
    const invoiceId = getId(standIn.store.get('subscription', subscriptionId).latest_invoice);
    return { ...customer, subscriptionId, invoiceId, invoice: standIn.store.get('invoice', invoiceId) };
  }

  function reversalsOf(id: string) {
    return stripe.readReversals({ id, hasCreditNotes: false });
  }

  function made(accountUuid: string, instead?: string): Promise<string> {
    return stripe.createConnectedAccount({ accountUuid, email: 'ada@example.com', ...(instead && { instead }) });
  }

  describe('a customer', () => {
    it('is made once for an account, however often that is asked for', async () => {
      const { accountUuid, customerId } = await newCustomer();
      const again = await stripe.createCustomer({ accountUuid, email: `${accountUuid}@example.com` });
      expect(again).to.equal(customerId);
      expect(standIn.summarize().duplicateCustomers).to.deep.equal([]);
    });

    it('has no payment method before anything was paid, one after that, and none when it was removed', async () => {
      const { customerId, url } = await openCheckout();
      expect(await stripe.findPaymentMethod(customerId)).to.equal(null);
      standIn.completeCheckout(url);
      expect(await stripe.findPaymentMethod(customerId)).to.match(/^pm_/);
      standIn.removePaymentMethod(customerId);
      expect(await stripe.findPaymentMethod(customerId)).to.equal(null);
    });

    it('that is unknown has none', async () => {
      expect(await stripe.findPaymentMethod('cus_unknown')).to.equal(null);
    });
  });

  describe('a subscription', () => {
    for (const { slug, priceYearlyCents } of PLANS) {
      it(`to ${slug} begins with a year of ${priceYearlyCents} cents that was paid on a page`, async () => {
        const { accountUuid, customerId, url } = await openCheckout(slug);
        const session = standIn.completeCheckout(url);
        const subscription = await read(session.subscription as string);
        expect(session.amount_total).to.equal(priceYearlyCents);
        expect(subscription).to.include({
          customerId,
          accountUuid,
          plan: slug,
          status: 'active',
          isLatestInvoicePaid: true,
        });
        const seconds = (subscription.currentPeriodEnd.getTime() - subscription.startedAt.getTime()) / 1_000;
        expect(seconds).to.be.within(YEAR_SECONDS, YEAR_SECONDS + 86_400);
      });
    }

    it('is led to by its page, its invoice, and the list of what began since', async () => {
      const before = standIn.now();
      const { url, subscriptionId } = await subscribed();
      const sessionId = url.split('/').at(-1) as string;
      const invoiceId = standIn.store.get('subscription', subscriptionId).latest_invoice as string;
      expect(await stripe.readCheckoutSession(sessionId)).to.deep.equal({
        subscriptionId,
        intentId: null,
        isOpen: false,
      });
      expect(await stripe.findInvoiceSubscription(invoiceId)).to.equal(subscriptionId);
      expect(await collectAll(stripe.listSubscriptionsSince(before))).to.include(subscriptionId);
      expect(await collectAll(stripe.listSubscriptionsSince(new Date(Date.now() + 60_000)))).to.deep.equal([]);
    });

    it('has one page at a time: those that are open still are closed', async () => {
      const { customerId, accountUuid, url } = await openCheckout('lite');
      standIn.store.get('checkout.session', url.split('/').at(-1)).created -= 1;
      const order = { customerId, accountUuid, plan: 'pro', metadata: {} } as const;
      await stripe.openSubscriptionCheckout(order, ADDRESSES, randomUUID());
      expect(() => standIn.completeCheckout(url)).to.throw(/expired/);
      expect((await stripe.readCheckoutSession(url.split('/').at(-1) as string))?.isOpen).to.equal(false);
    });

    it('is not there while the card on its page is declined, and is when another one is tried', async () => {
      const { url } = await openCheckout();
      const sessionId = url.split('/').at(-1) as string;
      standIn.completeCheckout(url, { declined: true });
      expect(await stripe.readCheckoutSession(sessionId)).to.deep.equal({
        subscriptionId: null,
        intentId: null,
        isOpen: true,
      });
      standIn.completeCheckout(url);
      expect((await stripe.readCheckoutSession(sessionId))?.subscriptionId).to.match(/^sub_/);
    });

    it('whose payment takes days is incomplete until it has arrived', async () => {
      const { url } = await openCheckout();
      const subscriptionId = standIn.completeCheckout(url, { async: true }).subscription as string;
      expect(await read(subscriptionId)).to.include({ status: 'incomplete', isLatestInvoicePaid: false });
      standIn.settlePayment(url, 'succeeded');
      expect(await read(subscriptionId)).to.include({ status: 'active', isLatestInvoicePaid: true });
    });

    for (const as of ['flag', 'date'] as const) {
      it(`that is cancelled for the end of its year says so (by a ${as}), until it is taken up again`, async () => {
        const { subscriptionId } = await subscribed();
        standIn.cancelAtPeriodEnd(subscriptionId, as);
        expect(await read(subscriptionId)).to.include({ status: 'active', cancelAtPeriodEnd: true });
        standIn.resume(subscriptionId);
        expect(await read(subscriptionId)).to.include({ status: 'active', cancelAtPeriodEnd: false });
      });
    }

    it('is ended at once, and ending it again is not an error', async () => {
      const { subscriptionId } = await subscribed();
      await stripe.cancelSubscription(subscriptionId);
      await stripe.cancelSubscription(subscriptionId);
      expect(await read(subscriptionId)).to.include({ status: 'canceled' });
    });

    it('is switched up at once, for the rest of the year', async () => {
      const { customerId, subscriptionId } = await subscribed('lite');
      const url = await stripe.openPlanChange({ customerId, subscriptionId, plan: 'studio' }, ADDRESSES.successUrl);
      expect(standIn.confirmPlanSwitch(url)).to.equal('switched');
      expect(await read(subscriptionId)).to.include({ plan: 'studio', status: 'active', isLatestInvoicePaid: true });
      const invoiceId = standIn.store.get('subscription', subscriptionId).latest_invoice as string;
      expect(standIn.store.get('invoice', invoiceId).amount_paid).to.be.within(82_700, 82_800);
    });

    it('stays what it was while the card declines the difference', async () => {
      const { customerId, subscriptionId } = await subscribed('lite');
      standIn.setCard(customerId, 'declined');
      const url = await stripe.openPlanChange({ customerId, subscriptionId, plan: 'studio' }, ADDRESSES.successUrl);
      expect(standIn.confirmPlanSwitch(url)).to.equal('declined');
      expect(await read(subscriptionId)).to.include({ plan: 'lite', status: 'active', isLatestInvoicePaid: true });
    });

    it('is unknown, and so are a page, an invoice, a payment, a charge and a dispute, where Stripe has none', async () => {
      expect(await stripe.readSubscription('sub_unknown')).to.equal(null);
      expect(await stripe.readCheckoutSession('cs_unknown')).to.equal(null);
      expect(await stripe.findInvoiceSubscription('in_unknown')).to.equal(null);
      expect(await stripe.readPayment('pi_unknown')).to.equal(null);
      expect(await stripe.readCharge('ch_unknown')).to.equal(null);
      expect(await stripe.findDisputedCharge('du_unknown')).to.equal(null);
      await stripe.cancelSubscription('sub_unknown');
    });

    it('has a portal', async () => {
      const { customerId } = await newCustomer();
      expect(await stripe.openPortal(customerId, ADDRESSES.successUrl)).to.match(/^http/);
    });
  });

  describe('over the years, a subscription', () => {
    // With a clock of its own, which the others would be moved by.
    let years: FakeStripe;
    let stripe: StripeProcessor;
    let subscriptionId: string;
    let customerId: string;
    const readIt = async () => (await stripe.readSubscription(subscriptionId)) as ProcessorSubscription;
    beforeEach(async () => {
      years = await new FakeStripe().start();
      stripe = createProcessor(years);
      const accountUuid = randomUUID();
      customerId = await stripe.createCustomer({ accountUuid, email: 'years@example.com' });
      const order = { accountUuid, customerId, plan: 'pro', metadata: {} } as const;
      const url = await stripe.openSubscriptionCheckout(order, ADDRESSES, randomUUID());
      subscriptionId = years.completeCheckout(url).subscription as string;
    });
    afterEach(() => years.stop());

    it('begins the next one with an invoice that is collected an hour later', async () => {
      const { currentPeriodEnd } = await readIt();
      years.advanceTo(new Date(currentPeriodEnd.getTime() + 60_000));
      const renewing = await readIt();
      expect(renewing).to.include({ status: 'active', isLatestInvoicePaid: false });
      expect(renewing.currentPeriodEnd.getFullYear()).to.equal(currentPeriodEnd.getFullYear() + 1);
      years.advanceTo(new Date(currentPeriodEnd.getTime() + 2 * 3_600_000));
      expect(await readIt()).to.include({ status: 'active', isLatestInvoicePaid: true });
    });

    it('is past due while the card declines it, and active again when that is paid', async () => {
      years.failRenewal(subscriptionId);
      expect(await readIt()).to.include({ status: 'past_due', isLatestInvoicePaid: false });
      years.payFailedInvoice(subscriptionId);
      expect(await readIt()).to.include({ status: 'active', isLatestInvoicePaid: true });
    });

    for (const outcome of ['canceled', 'unpaid', 'past_due'] as const) {
      it(`ends up ${outcome} where that is set, when all attempts have failed`, async () => {
        years.afterRetries = outcome;
        years.setCard(customerId, 'declined');
        years.advanceTo(new Date((await readIt()).currentPeriodEnd.getTime() + 30 * 86_400_000));
        expect(await readIt()).to.include({ status: outcome, isLatestInvoicePaid: false });
        expect(years.summarize().charges).to.include({ succeeded: 1, failed: 4 });
      });
    }

    it('is switched down with the renewal', async () => {
      const url = await stripe.openPlanChange({ customerId, subscriptionId, plan: 'lite' }, ADDRESSES.successUrl);
      expect(years.confirmPlanSwitch(url)).to.equal('scheduled');
      const { plan, currentPeriodEnd } = await readIt();
      expect(plan).to.equal('pro');
      years.advanceTo(new Date(currentPeriodEnd.getTime() + 2 * 3_600_000));
      expect(await readIt()).to.include({ plan: 'lite', isLatestInvoicePaid: true });
      expect(years.summarize().charges.succeededCents).to.equal(34_800 + 7_200);
    });

    it('may be refused another switch while one is scheduled', async () => {
      const lite = { customerId, subscriptionId, plan: 'lite' } as const;
      years.confirmPlanSwitch(await stripe.openPlanChange(lite, ADDRESSES.successUrl));
      years.refusesSwitchWhileScheduled = true;
      const studio = { ...lite, plan: 'studio' } as const;
      await expectProcessorError(stripe.openPlanChange(studio, ADDRESSES.successUrl), 'refused');
    });

    it('has its charges forgotten by their keys after a day', async () => {
      const paymentMethodId = (await stripe.findPaymentMethod(customerId)) as string;
      const order = { customerId, paymentMethodId, topupUuid: randomUUID(), amountCents: 5_000 };
      await stripe.chargeTopup(order);
      years.advanceTo(new Date(Date.now() + 23 * 3_600_000));
      await stripe.chargeTopup(order);
      expect(years.summarize().doubleChargedTopups).to.deep.equal([]);
      years.advanceTo(new Date(Date.now() + 25 * 3_600_000));
      await stripe.chargeTopup(order);
      expect(years.summarize().doubleChargedTopups).to.deep.equal([order.topupUuid]);
    });

    it('ends where it was cancelled for the end of its year', async () => {
      years.cancelAtPeriodEnd(subscriptionId);
      years.advanceTo((await readIt()).currentPeriodEnd);
      expect(await readIt()).to.include({ status: 'canceled' });
    });
  });

  describe('a top-up', () => {
    it('is paid on a page, and leaves a card to charge again', async () => {
      const { customerId } = await newCustomer();
      const topupUuid = randomUUID();
      const order = { customerId, topupUuid, amountCents: 5_000, credits: 1_896 };
      const { sessionId, url } = await stripe.openTopupCheckout(order, ADDRESSES);
      expect(await stripe.openTopupCheckout(order, ADDRESSES)).to.deep.equal({ sessionId, url });
      expect(await stripe.readCheckoutSession(sessionId)).to.deep.equal({
        subscriptionId: null,
        intentId: null,
        isOpen: true,
      });
      standIn.completeCheckout(url);
      const intentId = (await stripe.readCheckoutSession(sessionId))?.intentId as string;
      const paid = {
        intentId,
        topupUuid,
        status: 'succeeded',
        amountCents: 5_000,
        reversedCents: 0,
        isDisputed: false,
        failure: null,
      };
      expect(await readPayment(intentId)).to.deep.equal(paid);
      expect(await stripe.findPaymentMethod(customerId)).to.match(/^pm_/);
    });

    it('whose payment takes days is pending, and then is what came of it', async () => {
      for (const outcome of ['succeeded', 'failed'] as const) {
        const { customerId } = await newCustomer();
        const order = { customerId, topupUuid: randomUUID(), amountCents: 5_000, credits: 1 };
        const { url } = await stripe.openTopupCheckout(order, ADDRESSES);
        const intentId = standIn.completeCheckout(url, { async: true }).payment_intent as string;
        expect(await readPayment(intentId)).to.include({ status: 'pending', failure: null });
        standIn.settlePayment(url, outcome);
        expect(await readPayment(intentId)).to.include({ status: outcome });
      }
    });

    it('is charged to the card on file once, however often that is asked for', async () => {
      const { customerId } = await subscribed();
      const order = await chargeFor(customerId);
      const first = await stripe.chargeTopup(order);
      expect(first).to.include({ topupUuid: order.topupUuid, status: 'succeeded', amountCents: 5_000, failure: null });
      expect(await stripe.chargeTopup(order)).to.deep.equal(first);
      expect(standIn.summarize().topups.get(order.topupUuid)).to.include({ succeeded: 1, paidCents: 5_000 });
    });

    for (const [card, failure] of [
      ['declined', 'declined'],
      ['authentication_required', 'authentication_required'],
    ] as const) {
      it(`says ${failure} of a card that is, also when it is asked again`, async () => {
        const { customerId } = await subscribed();
        standIn.setCard(customerId, card);
        const order = await chargeFor(customerId);
        const first = await stripe.chargeTopup(order);
        expect(first).to.include({ topupUuid: order.topupUuid, status: 'failed', failure });
        standIn.setCard(customerId, 'ok');
        expect(await stripe.chargeTopup(order)).to.deep.equal(first);
        expect(await readPayment(first.intentId)).to.deep.equal(first);
      });
    }

    it('is refused with a card that was removed, one of another customer, and an amount that is too small', async () => {
      const { customerId } = await subscribed();
      const order = await chargeFor(customerId);
      const other = await chargeFor((await subscribed()).customerId);
      for (const bad of [
        { amountCents: 49 },
        { customerId: 'cus_unknown' },
        { paymentMethodId: other.paymentMethodId },
      ]) {
        await expectProcessorError(stripe.chargeTopup({ ...order, ...bad, topupUuid: randomUUID() }), 'refused');
      }
      standIn.removePaymentMethod(customerId);
      await expectProcessorError(stripe.chargeTopup(order), 'refused');
    });

    it('charged again for another amount tells nothing of what became of the first', async () => {
      const { customerId, paymentMethodId, topupUuid } = await toppedUp();
      await expectProcessorError(
        stripe.chargeTopup({ customerId, paymentMethodId, topupUuid, amountCents: 6_000 }),
        'away',
      );
      expect(standIn.summarize().topups.get(topupUuid)).to.include({ succeeded: 1, paidCents: 5_000 });
    });

    it('is reversed by what is refunded', async () => {
      const { intentId, chargeId } = await toppedUp();
      standIn.refund(intentId, 2_000);
      expect(await readPayment(intentId)).to.include({ status: 'succeeded', reversedCents: 2_000 });
      standIn.refund(intentId);
      expect(await stripe.readCharge(chargeId)).to.include({ intentId, reversedCents: 5_000 });
    });

    it('is reversed by a dispute until it is won, and for good when it is lost', async () => {
      for (const [outcome, reversedCents] of [
        ['won', 0],
        ['lost', 5_000],
      ] as const) {
        const { intentId, chargeId } = await toppedUp();
        const dispute = standIn.openDispute(intentId);
        expect(await stripe.findDisputedCharge(dispute.id)).to.equal(chargeId);
        expect(await readPayment(intentId)).to.include({ reversedCents: 5_000 });
        standIn.closeDispute(intentId, outcome);
        expect(await readPayment(intentId)).to.include({ reversedCents });
      }
    });

    it("is not reversed by a bank's question, and never by more than was paid", async () => {
      const { intentId } = await toppedUp();
      standIn.openDispute(intentId, { isInquiry: true });
      expect(await readPayment(intentId)).to.include({ reversedCents: 0 });
      standIn.refund(intentId);
      standIn.openDispute(intentId);
      expect(await readPayment(intentId)).to.include({ reversedCents: 5_000 });
    });

    it('is disputed and refunded when a dispute was prevented by returning the money', async () => {
      const { intentId } = await toppedUp();
      standIn.openDispute(intentId, { isPrevented: true });
      expect(await readPayment(intentId)).to.include({ isDisputed: true, reversedCents: 5_000 });
    });

    it('is in the list of the payments since, page after page', async () => {
      const { customerId } = await subscribed();
      const since = standIn.now();
      const orders = await Promise.all(Array.from({ length: 12 }, () => chargeFor(customerId)));
      const made = await Promise.all(orders.map((order) => stripe.chargeTopup(order)));
      const listed = await collectAll(stripe.listPaymentsSince(since));
      expect(listed).to.include.members(made.map(({ intentId }) => intentId));
      expect(new Set(listed).size).to.equal(listed.length);
    });
  });

  describe("the charge of a subscription's invoice", () => {
    it('names the invoice and the subscription', async () => {
      const { subscriptionId, invoiceId } = await paidInvoice();
      const charge = await stripe.readCharge(getChargeId(standIn, subscriptionId));
      expect(charge).to.deep.equal({ invoiceId, subscriptionId });
    });
  });

  describe('a paid invoice of a subscription', () => {
    it('is listed with its plan, its period and what was paid', async () => {
      const { subscriptionId, invoiceId } = await paidInvoice('lite');
      const { invoices, currentPeriodEnd, endedAt } = await read(subscriptionId);
      expect(endedAt).to.equal(null);
      expect(invoices).to.have.length(1);
      expect(invoices[0]).to.deep.include({ id: invoiceId, isAnnual: true, plan: 'lite', paidCents: 7_200 });
      expect(invoices[0]?.paidUntil).to.deep.equal(currentPeriodEnd);
    });

    it('reports what of it was refunded', async () => {
      const { invoiceId } = await paidInvoice();
      standIn.refund(invoiceId, 100);
      expect(await reversalsOf(invoiceId)).to.include({ refundedCents: 100 });
      standIn.refund(invoiceId);
      expect(await reversalsOf(invoiceId)).to.include({ refundedCents: 34_800 });
    });

    it('reports a dispute while it is open and after it was lost, and none after it was won', async () => {
      for (const outcome of ['won', 'lost'] as const) {
        const { subscriptionId, invoiceId } = await paidInvoice();
        const chargeId = getChargeId(standIn, subscriptionId);
        standIn.openDispute(chargeId);
        expect(await reversalsOf(invoiceId)).to.include({ openDispute: chargeId, lostDispute: null });
        standIn.closeDispute(chargeId, outcome);
        const lostDispute = outcome === 'lost' ? chargeId : null;
        expect(await reversalsOf(invoiceId)).to.include({ openDispute: null, lostDispute });
      }
    });

    it('counts a prevented dispute as a refund, and an inquiry as nothing', async () => {
      const [prevented, inquired] = [await paidInvoice(), await paidInvoice()];
      standIn.openDispute(prevented.invoiceId, { isPrevented: true });
      standIn.openDispute(inquired.invoiceId, { isInquiry: true });
      const none = { openDispute: null, lostDispute: null };
      expect(await reversalsOf(prevented.invoiceId)).to.deep.equal({ refundedCents: 34_800, ...none });
      expect(await reversalsOf(inquired.invoiceId)).to.deep.equal({ refundedCents: 0, ...none });
    });

    it('is refunded with all of its payments, once', async () => {
      const { invoiceId, invoice } = await paidInvoice();
      const [first] = standIn.store.list('invoice_payment').filter((entry) => getId(entry.invoice) === invoiceId);
      const { customerId } = await subscribed();
      const other = await stripe.chargeTopup(await chargeFor(customerId));
      standIn.store.add<'invoice_payment'>({
        ...structuredClone(first as Stripe.InvoicePayment),
        id: 'inpay_second_part',
        amount_paid: 5_000,
        payment: { type: 'payment_intent', payment_intent: other.intentId },
      });
      expect(await stripe.refundInvoice(invoiceId)).to.equal('refunded');
      expect(await stripe.refundInvoice(invoiceId)).to.equal('refunded');
      const { refundedCents } = await reversalsOf(invoiceId);
      expect(refundedCents).to.equal(invoice.amount_paid + 5_000);
    });

    it('is refunded after a refund was rejected, though Stripe keeps the rejection under its key', async () => {
      const { invoiceId } = await paidInvoice();
      const charge = findCharge(standIn.store, invoiceId);
      charge.disputed = true;
      expect(await stripe.refundInvoice(invoiceId)).to.equal('disputed');
      charge.disputed = false;
      expect(await stripe.refundInvoice(invoiceId)).to.equal('refunded');
      expect(charge.amount_refunded).to.equal(charge.amount);
    });

    it('is not reported as refunded if some of it was paid outside of Stripe and not credited there', async () => {
      const { url, customerId } = await openCheckout();
      standIn.completeCheckout(url, { async: true });
      standIn.payOutOfBand(customerId);
      const invoiceId = getId(standIn.findSubscription(customerId).latest_invoice);
      expect(await stripe.refundInvoice(invoiceId)).to.equal('incomplete');
      standIn.creditOutOfBand(invoiceId, 34_800);
      expect(await stripe.refundInvoice(invoiceId)).to.equal('refunded');
    });

    it('reports what was paid, not what a balance covered', async () => {
      const { subscriptionId, invoice } = await paidInvoice();
      invoice.amount_paid = 4_800;
      expect((await read(subscriptionId)).invoices[0]).to.include({ paidCents: 4_800 });
    });

    it('reports whether a refund failed, and whether another one has returned the charge', async () => {
      const { invoiceId } = await paidInvoice();
      const failed = standIn.refund(invoiceId);
      expect(await stripe.readRefund(failed.id)).to.include({ isFailed: false, isChargeRefunded: true });
      standIn.failRefund(failed.id);
      expect(await stripe.readRefund(failed.id)).to.include({ isFailed: true, isChargeRefunded: false });
      standIn.refund(invoiceId);
      expect(await stripe.readRefund(failed.id)).to.include({ isFailed: true, isChargeRefunded: true });
    });

    it('is not refunded while a dispute is open', async () => {
      const { invoiceId } = await paidInvoice();
      standIn.openDispute(invoiceId);
      expect(await stripe.refundInvoice(invoiceId)).to.equal('disputed');
      standIn.closeDispute(invoiceId, 'lost');
      expect(await stripe.refundInvoice(invoiceId)).to.equal('lost');
    });
  });

  it('a subscription changes its plan at once and without a charge', async () => {
    const { subscriptionId } = await subscribed('studio');
    const before = standIn.summarize().charges.succeeded;
    await stripe.changePlan(subscriptionId, 'lite');
    expect((await read(subscriptionId)).plan).to.equal('lite');
    expect(standIn.summarize().charges.succeeded).to.equal(before);
  });

  describe('while Stripe misbehaves', () => {
    for (const fault of ['error', 'busy', 'drop'] as const) {
      it(`whatever is asked of it is away (${fault})`, async () => {
        const { customerId, accountUuid, subscriptionId, paymentMethodId, topupUuid, chargeId } = await toppedUp();
        standIn.faults.all = fault;
        const order = { customerId, accountUuid, subscriptionId, plan: 'lite', metadata: {} } as const;
        const topup = { customerId, paymentMethodId, topupUuid, amountCents: 5_000, credits: 1 };
        const asked: Promise<unknown>[] = [
          stripe.createCustomer({ accountUuid: randomUUID(), email: 'a@example.com' }),
          stripe.findPaymentMethod(customerId),
          stripe.openSubscriptionCheckout(order, ADDRESSES, randomUUID()),
          stripe.openPlanChange(order, ADDRESSES.successUrl),
          stripe.openPortal(customerId, ADDRESSES.successUrl),
          stripe.openTopupCheckout(topup, ADDRESSES),
          stripe.chargeTopup(topup),
          stripe.readSubscription(subscriptionId),
          stripe.cancelSubscription(subscriptionId),
          stripe.readPayment('pi_1'),
          stripe.readCheckoutSession('cs_1'),
          stripe.readCharge(chargeId),
          stripe.findDisputedCharge('du_1'),
          stripe.findInvoiceSubscription('in_1'),
          collectAll(stripe.listSubscriptionsSince(new Date())),
          collectAll(stripe.listPaymentsSince(new Date())),
        ];
        await Promise.all(asked.map((work) => expectProcessorError(work, 'away')));
      });
    }

    it('it is away when it does not answer within four seconds, twice', async () => {
      standIn.faults['subscriptions.retrieve'] = 'hang';
      const begin = performance.now();
      await expectProcessorError(stripe.readSubscription('sub_1'), 'away');
      expect(performance.now() - begin).to.be.within(7_500, scaleTimeout(15_000));
    });

    it('it is away when nobody is there at all, or takes our key no more: what it did before nobody knows', async () => {
      const gone = await new FakeStripe().start();
      await gone.stop();
      await expectProcessorError(createProcessor(gone).readSubscription('sub_1'), 'away');
      const stranger = createProcessor(standIn, { secretKey: 'sk_test_other' });
      await expectProcessorError(stranger.readSubscription('sub_1'), 'away');
    });

    for (const fault of ['error', 'drop', 'drop after doing'] as const) {
      it(`a call that fails once is repeated without anybody noticing (${fault})`, async () => {
        const { customerId } = await subscribed();
        standIn.faults['intents.create'] = { how: fault, times: 1 };
        const order = await chargeFor(customerId);
        expect(await stripe.chargeTopup(order)).to.include({ status: 'succeeded' });
        expect(standIn.summarize().topups.get(order.topupUuid)).to.include({ succeeded: 1, failed: 0 });
      });
    }

    it('a charge whose reply was lost says, asked again, what came of the first', async () => {
      for (const [card, status] of [
        ['ok', 'succeeded'],
        ['declined', 'failed'],
      ] as const) {
        const { customerId } = await subscribed();
        standIn.setCard(customerId, card);
        const order = await chargeFor(customerId);
        standIn.faults['intents.create'] = 'drop after doing';
        await expectProcessorError(stripe.chargeTopup(order), 'away');
        delete standIn.faults['intents.create'];
        standIn.setCard(customerId, card === 'ok' ? 'declined' : 'ok');
        expect(await stripe.chargeTopup(order)).to.include({ topupUuid: order.topupUuid, status });
        const { succeeded, failed } = standIn.summarize().topups.get(order.topupUuid) ?? {};
        expect([succeeded, failed]).to.deep.equal(card === 'ok' ? [1, 0] : [0, 1]);
      }
    });

    it('a charge that broke in the middle stays away for a day, since Stripe says so again', async () => {
      const { customerId } = await subscribed();
      const order = await chargeFor(customerId);
      standIn.faults['intents.create'] = { how: 'error kept', times: 1 };
      await expectProcessorError(stripe.chargeTopup(order), 'away');
      await expectProcessorError(stripe.chargeTopup(order), 'away');
      expect(standIn.summarize().topups.get(order.topupUuid)).to.equal(undefined);
    });

    it('of two charges of a top-up at the same time, both say what came of the one', async () => {
      const { customerId } = await subscribed();
      const order = await chargeFor(customerId);
      standIn.latencyMs = 100;
      const [first, second] = await Promise.all([stripe.chargeTopup(order), stripe.chargeTopup(order)]);
      expect(second).to.deep.equal(first);
      expect(standIn.summarize().topups.get(order.topupUuid)).to.include({ succeeded: 1 });
    });

    it('a subscription whose end was not acknowledged has ended', async () => {
      const { subscriptionId } = await subscribed();
      standIn.faults['subscriptions.cancel'] = { how: 'drop after doing', times: 1 };
      await stripe.cancelSubscription(subscriptionId);
      expect(await read(subscriptionId)).to.include({ status: 'canceled' });
    });
  });

  describe('a webhook', () => {
    const event = {
      id: 'evt_1',
      object: 'event',
      type: 'invoice.paid',
      data: { object: { id: 'in_1', object: 'invoice' } },
    };
    const body = Buffer.from(JSON.stringify(event));
    it('is what it says where it was signed with our secret, up to five minutes ago', async () => {
      for (const age of [0, 290]) {
        const signature = await signPayload(body.toString(), standIn.webhookSecret, nowSeconds() - age);
        expect(stripe.verifyEvent(body, signature)).to.deep.equal({
          id: 'evt_1',
          type: 'invoice.paid',
          objectId: 'in_1',
        });
      }
    });

    it('is refused when it is older', async () => {
      await expectRejectedSignature(
        stripe,
        body,
        await signPayload(body.toString(), standIn.webhookSecret, nowSeconds() - 310),
      );
    });

    it('is refused when it was changed, or signed with another secret, or not at all', async () => {
      const signature = await signPayload(body.toString(), standIn.webhookSecret);
      await expectRejectedSignature(stripe, Buffer.from(body.toString().replace('in_1', 'in_2')), signature);
      await expectRejectedSignature(stripe, Buffer.concat([body, Buffer.from(' ')]), signature);
      await expectRejectedSignature(stripe, Buffer.alloc(0), signature);
      await expectRejectedSignature(stripe, body, await signPayload(body.toString(), 'whsec_other'));
      await expectRejectedSignature(stripe, body, signature.replace(/v1=\w{8}/, 'v1=00000000'));
      for (const nonsense of ['', 'nonsense', 't=,v1=', `t=${nowSeconds()},v0=abc`])
        await expectRejectedSignature(stripe, body, nonsense);
    });

    it('is refused when it is signed but is no event', async () => {
      for (const payload of ['', 'nonsense', 'null', '[]', '{}', '{"id":"evt_1","type":"invoice.paid"}']) {
        await expectRejectedSignature(stripe, Buffer.from(payload), await signPayload(payload, standIn.webhookSecret));
      }
    });
  });

  describe('the stand-in', () => {
    it('delivers each event, signed, until it is taken', async () => {
      const webhook = await listen();
      standIn.webhookUrl = webhook.url;
      webhook.status = 503;
      const { subscriptionId } = await subscribed();
      await webhook.posts(5);
      webhook.status = 200;
      await standIn.drained();
      const taken = webhook.received.filter(({ status }) => status === 200);
      const events = taken.map(({ body, signature }) => stripe.verifyEvent(body, signature));
      expect(events.map(({ type }) => type)).to.have.members([
        'payment_method.attached',
        'payment_intent.succeeded',
        'customer.subscription.created',
        'invoice.paid',
        'checkout.session.completed',
      ]);
      expect(events.find(({ type }) => type === 'customer.subscription.created')?.objectId).to.equal(subscriptionId);
      await webhook.close();
    });

    it('holds back, duplicates, shuffles and loses events where it is told to', async () => {
      const webhook = await listen();
      Object.assign(standIn, { webhookUrl: webhook.url });
      Object.assign(standIn.delivery, { pause: true, duplicate: 1, reorder: true });
      const before = standIn.events.length;
      for (let count = 0; count < 5; count += 1) await subscribed();
      expect(webhook.received).to.deep.equal([]);
      standIn.delivery.pause = false;
      await standIn.drained();
      const ids = standIn.events.slice(before).map(({ id }) => id);
      const received = webhook.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
      expect(received.toSorted()).to.deep.equal([...ids, ...ids].toSorted());
      expect(received.filter((id, index) => received.indexOf(id) === index)).to.not.deep.equal(ids);

      Object.assign(standIn.delivery, { duplicate: 0, drop: 1 });
      await subscribed();
      await standIn.drained();
      expect(webhook.received).to.have.length(received.length);
      standIn.delivery.sendDropped();
      await standIn.drained();
      expect(webhook.received).to.have.length(received.length + 5);
      await webhook.close();
    });

    it('knows a second charge, a second subscription and a second customer when it sees one', async () => {
      const { accountUuid, customerId, paymentMethodId, topupUuid } = await toppedUp();
      const careless = createStripeClient(standIn.secretKey, standIn.url);
      // One that buys nothing would be nobody's harm.
      const second = await careless.customers.create({ metadata: { account_uuid: accountUuid } });
      const { id } = await careless.checkout.sessions.create({
        mode: 'subscription',
        customer: second.id,
        line_items: [{ price: standIn.prices.lite, quantity: 1 }],
        success_url: ADDRESSES.successUrl,
        cancel_url: ADDRESSES.cancelUrl,
      });
      standIn.completeCheckout(id);
      await careless.paymentIntents.create({
        amount: 5_000,
        currency: 'usd',
        customer: customerId,
        payment_method: paymentMethodId,
        off_session: true,
        confirm: true,
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        metadata: { topup_uuid: topupUuid },
      });
      expect(standIn.summarize()).to.deep.include({
        doubleChargedTopups: [topupUuid],
        doubleSubscribedAccounts: [accountUuid],
        duplicateCustomers: [accountUuid],
      });
    });
  });

  describe('an invoice of a subscription', () => {
    it('says what it brought in, and what of that went back to the customer', async () => {
      const { invoiceId, accountUuid, customerId, subscriptionId } = await paidInvoice();
      const { paidAt, ...read } = (await stripe.readInvoice(invoiceId)) as PaidInvoice;
      expect(read).to.deep.equal({
        customerId,
        subscriptionId,
        accountUuid,
        isSupportedCurrency: true,
        isForPlan: true,
        paidCents: 34_800,
        netCents: 34_800,
        reversedCents: 0,
      });
      expect(Math.abs(paidAt.getTime() - standIn.now().getTime())).to.be.below(60_000);
      standIn.refund(invoiceId, 800);
      expect(await stripe.readInvoice(invoiceId)).to.include({ paidCents: 34_800, reversedCents: 800 });
    });

    it('counts what was given back outside of Stripe, as credit notes say, and not of those that are void', async () => {
      const { invoiceId } = await paidInvoice();
      const note = standIn.creditOutOfBand(invoiceId, 4_000);
      standIn.creditOutOfBand(invoiceId, 1_000);
      standIn.refund(invoiceId, 800);
      expect(await stripe.readInvoice(invoiceId)).to.include({ reversedCents: 5_800 });
      voidCreditNote(standIn.store, note);
      expect(await stripe.readInvoice(invoiceId)).to.include({ reversedCents: 1_800 });
      standIn.creditOutOfBand(invoiceId, 34_000);
      expect(await stripe.readInvoice(invoiceId)).to.include({ reversedCents: 34_800 });
    });

    it('that is marked as paid outside of Stripe brought in nothing', async () => {
      const { url, customerId } = await openCheckout();
      standIn.completeCheckout(url, { async: true });
      standIn.payOutOfBand(customerId);
      const invoiceId = getId(standIn.findSubscription(customerId).latest_invoice);
      expect(standIn.store.get('invoice', invoiceId)).to.include({ status: 'paid', amount_paid: 34_800 });
      expect(await stripe.readInvoice(invoiceId)).to.include({ paidCents: 0, netCents: 0, reversedCents: 0 });
    });

    it('says when it is in another currency', async () => {
      const { invoice, invoiceId } = await paidInvoice();
      invoice.currency = 'krw';
      expect(await stripe.readInvoice(invoiceId)).to.include({ isSupportedCurrency: false });
    });

    it('is for a plan by any price that was ever sold, and for none by another one', async () => {
      const { invoice, invoiceId } = await paidInvoice();
      const details = invoice.lines.data[0]?.pricing?.price_details as { price: string };
      for (const [before, isForPlan] of [
        [details.price, true],
        ['price_other', false],
      ] as const) {
        const prices = { lite: ['price_1'], starter: ['price_2'], pro: ['price_3', before], studio: ['price_4'] };
        expect(await createProcessor(standIn, { prices }).readInvoice(invoiceId)).to.include({ isForPlan });
      }
    });
  });

  it('pages where something is paid are in our currency, wherever the customer is', async () => {
    const { customerId } = await openCheckout();
    await stripe.openTopupCheckout(
      { customerId, topupUuid: randomUUID(), amountCents: 5_000, credits: 1_896 },
      ADDRESSES,
    );
    const opened = standIn.requests.filter(({ name }) => name === 'checkout.create').slice(-2);
    expect(opened.map(({ params }) => (params as any).mode)).to.deep.equal(['subscription', 'payment']);
    for (const { params } of opened) expect((params as any).adaptive_pricing).to.deep.equal({ enabled: 'false' });
  });

  it('opens a top-up page for the customer who replaces a deleted one, whatever Stripe keeps under a key', async () => {
    const customer = (instead?: string) =>
      stripe.createCustomer({ accountUuid: uuid, email: 'a@example.com', ...(instead && { instead }) });
    const uuid = randomUUID();
    const deleted = await customer();
    standIn.deleteCustomer(deleted);
    expect(await stripe.findPaymentMethod(deleted)).to.equal(null);
    const order = { topupUuid: randomUUID(), amountCents: 5_000, credits: 1896 };
    const error = await captureError(stripe.openTopupCheckout({ ...order, customerId: deleted }, ADDRESSES));
    expect(error).to.include({ fault: 'refused', isCustomerGone: true });
    const page = await stripe.openTopupCheckout({ ...order, customerId: await customer(deleted) }, ADDRESSES);
    expect(page.url).to.include('/pay/');
  });

  it('is answered with the same error again under the key of a request that failed while it executed', async () => {
    const api = createStripeClient(standIn.secretKey, standIn.url);
    const key = { idempotencyKey: randomUUID() };
    const order = { amount: 5_000, currency: 'usd', customer: 'cus_missing', confirm: true, off_session: true };
    const params = { ...order, automatic_payment_methods: { enabled: true, allow_redirects: 'never' as const } };
    const fails = async (changed: object) =>
      (await captureError(api.paymentIntents.create({ ...params, ...changed }, key))) as {
        code?: string;
        type?: string;
      };
    expect(await fails({ amount: 'x' as never })).to.include({ code: 'parameter_invalid_integer' });
    expect(await fails({ payment_method: 'pm_x' })).to.include({ code: 'resource_missing' });
    const asked = standIn.requests.length;
    expect(await fails({ payment_method: 'pm_x' })).to.include({ code: 'resource_missing' });
    expect(standIn.requests.length).to.equal(asked + 1);
    expect(await fails({ payment_method: 'pm_y' })).to.include({ type: 'StripeIdempotencyError' });
  });

  describe('a connected account', () => {
    const ONBOARDING = { returnUrl: 'https://example.com/back', refreshUrl: 'https://example.com/again' };
    const GONE = {
      deleted: (id: string) => standIn.deleteCustomer(id),
      'taken away from us': (id: string) => standIn.disconnect(id),
    };
    for (const [how, lose] of Object.entries(GONE)) {
      it(`that is ${how} is known as gone, takes nothing, and another one is made in its place, once`, async () => {
        const uuid = randomUUID();
        const id = await made(uuid);
        lose(id);
        expect(await stripe.readConnectedAccount(id)).to.equal(null);
        const order = { payoutUuid: randomUUID(), connectAccountId: id, amountCents: 100 };
        for (const refused of [stripe.openOnboarding(id, ONBOARDING), stripe.createTransfer(order)]) {
          const error = (await captureError(refused)) as ProcessorError;
          expect(error).to.include({ fault: 'refused', isConnectedAccountGone: true, isCustomerGone: false });
          expect(error.message).to.not.include('STRIPE_SECRET_KEY');
        }
        const other = await made(uuid, id);
        expect(other).to.not.equal(id);
        expect(await made(uuid, id)).to.equal(other);
        expect(await stripe.openOnboarding(other, ONBOARDING)).to.include(other);
      });
    }

    it('cannot be made where Connect is not switched on', async () => {
      standIn.store.isConnectEnabled = false;
      await expectProcessorError(made(randomUUID()), 'refused');
      standIn.store.isConnectEnabled = true;
    });
  });

  describe('npm run stripe:setup', () => {
    it('makes all that is needed once, and prints it for .env', async () => {
      const empty = await new FakeStripe({ isEmpty: true }).start();
      const env = { STRIPE_SECRET_KEY: empty.secretKey, STRIPE_API_BASE: empty.url, BASE_URL: 'https://example.com/' };
      const first = await runStripeSetup(env);
      expect(first.status, first.stderr).to.equal(0);
      const prices = empty.store.list('price').toReversed();
      const [configuration] = empty.store.list('billing_portal.configuration');
      expect(first.stdout.trim().split('\n')).to.deep.equal([
        'STRIPE_WEBHOOK_SECRET=whsec_standin',
        'STRIPE_CONNECT_WEBHOOK_SECRET=whsec_standin',
        ...PLANS.map(({ slug }, index) => `STRIPE_PRICE_${slug.toUpperCase()}=${prices[index]?.id}`),
        `STRIPE_PORTAL_CONFIGURATION=${configuration?.id}`,
      ]);
      const [connected, endpoint] = empty.store.list('webhook_endpoint');
      expect(endpoint).to.include({
        url: 'https://example.com/api/billing/webhooks/processor/',
        api_version: Stripe.API_VERSION,
      });
      expect(endpoint?.enabled_events).to.have.members([...EVENT_TYPES]);
      expect(connected?.url).to.equal(endpoint?.url);
      expect(connected?.enabled_events).to.deep.equal(['account.updated']);
      // Stripe makes it one for connected accounts by this, and does not tell it again.
      expect(
        empty.requests.filter(({ params }) => (params as Record<string, unknown>)['connect'] === 'true'),
      ).to.have.length(1);
      expect(prices.map(({ unit_amount: cents }) => cents)).to.deep.equal([7_200, 14_400, 34_800, 90_000]);
      expect(configuration?.features.subscription_update).to.deep.include({
        proration_behavior: 'always_invoice',
        schedule_at_period_end: { conditions: [{ type: 'decreasing_item_amount' }] },
      });

      const made = empty.requests.filter(({ name }) => name.endsWith('.create')).length;
      const second = await runStripeSetup(env);
      expect(second.stdout.trim().split('\n')).to.deep.equal(first.stdout.trim().split('\n').slice(2));
      expect(empty.requests.filter(({ name }) => name.endsWith('.create'))).to.have.length(made);
      await empty.stop();
    });

    it('puts another price in the place of one with the wrong amount', async () => {
      const other = await new FakeStripe().start();
      const price = other.store.get('price', other.prices.pro);
      price.unit_amount = 1_000;
      const env = { STRIPE_SECRET_KEY: other.secretKey, STRIPE_API_BASE: other.url };
      const { stdout, stderr } = await runStripeSetup(env);
      expect(stdout).to.include(`STRIPE_PRICE_LITE=${other.prices.lite}`).and.to.not.include(other.prices.pro);
      expect(stderr).to.include(`in the place of ${other.prices.pro}`);
      expect(price.lookup_key).to.equal(null);
      await other.stop();
    });

    it('makes no webhook on localhost, and says what to do there', async () => {
      const env = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url, PORT: '3100' };
      const { status, stdout, stderr } = await runStripeSetup(env);
      expect([status, stdout.includes('WEBHOOK')]).to.deep.equal([0, false]);
      expect(stderr).to.include(
        'stripe listen --forward-to http://localhost:3100/api/billing/webhooks/processor/ --events checkout.',
      );
      expect(stderr).to.include('stripe listen --forward-connect-to http://localhost:3100/');
    });

    it('says in a sentence what is missing or wrong', async () => {
      const good = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
      const bad: [Record<string, string>, RegExp][] = [
        [{ STRIPE_SECRET_KEY: '' }, /^STRIPE_SECRET_KEY is not set: .+\.$/m],
        [{ STRIPE_SECRET_KEY: 'pk_test_1' }, /^STRIPE_SECRET_KEY must be a secret key/m],
        [{ STRIPE_SECRET_KEY: 'sk_test_other' }, /^Stripe does not take STRIPE_SECRET_KEY: /m],
        [{ BASE_URL: 'example.com' }, /^BASE_URL must be an address/m],
        [{ STRIPE_API_BASE: 'http://127.0.0.1:1' }, /^Stripe does not answer: /m],
      ];
      for (const [env, sentence] of bad) {
        const { status, stdout, stderr } = await runStripeSetup({ ...good, ...env });
        expect([status, stdout]).to.deep.equal([1, '']);
        expect(stderr).to.match(sentence);
      }
      expect((await runStripeSetup({}, ['--help'])).stdout).to.include('STRIPE_SECRET_KEY');
      expect((await runStripeSetup({}, ['--hlep'])).stderr).to.match(/^There is no option --hlep\./);
    });
  });
});

function createProcessor(standIn: FakeStripe, options: Partial<StripeOptions> = {}): StripeProcessor {
  const { secretKey, webhookSecret, url: apiBase } = standIn;
  const { lite, starter, pro, studio } = standIn.prices;
  const prices = { lite: [lite], starter: [starter], pro: [pro, 'price_before'], studio: [studio] };
  return createStripeProcessor({ secretKey, webhookSecret, prices, apiBase, ...options });
}

/** The charge that paid a subscription's last invoice. */
function getChargeId({ store }: FakeStripe, subscriptionId: string): string {
  const invoiceId = store.get('subscription', subscriptionId).latest_invoice;
  const entry = store.list('invoice_payment').find(({ invoice }) => invoice === invoiceId);
  return store.get('payment_intent', entry?.payment.payment_intent as string).latest_charge as string;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

async function collectAll(list: AsyncIterable<string>): Promise<string[]> {
  const items: string[] = [];
  for await (const item of list) items.push(item);
  return items;
}

async function expectProcessorError(work: Promise<unknown>, fault: ProcessorError['fault']): Promise<void> {
  const error = await captureError(work);
  expect(error).to.be.instanceOf(ProcessorError);
  expect((error as ProcessorError).fault).to.equal(fault);
}

async function expectRejectedSignature(stripe: StripeProcessor, payload: Buffer, signature: string): Promise<void> {
  await expectProcessorError((async () => stripe.verifyEvent(payload, signature))(), 'refused');
}

/** A webhook that takes what it is posted, or does not. */
async function listen() {
  const received: { body: Buffer; signature: string; status: number }[] = [];
  const webhook = { url: '', status: 200, received, posts, close };
  const arrived = new EventEmitter();
  const server = createServer((request, response) => {
    void take(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  webhook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return webhook;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status } = webhook;
    const body = Buffer.from(await readTextBody(request));
    received.push({ body, signature: String(request.headers['stripe-signature']), status });
    response.writeHead(status).end();
    arrived.emit('post');
  }

  async function posts(count: number): Promise<void> {
    while (received.length < count) await once(arrived, 'post');
  }

  async function close(): Promise<void> {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }
}

/** Runs the script in an empty folder, where no `.env` is. */
async function runStripeSetup(env: Record<string, string>, args: string[] = []) {
  const cwd = await mkdtemp(join(tmpdir(), 'stripe-setup-'));
  const child = spawn(process.execPath, [`${BUNDLE}/stripeSetup.js`, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  await rm(cwd, { recursive: true });
  return { status, stdout, stderr };
}
