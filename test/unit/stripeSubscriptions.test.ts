import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { DEFAULT_PLANS } from '../../shared/spec/plans.ts';
import { collectAll, RETURN_URLS, StripeFixture } from '../harness/stripeFixture.ts';

const YEAR_SECONDS = 365 * 86_400;

describe('subscriptions at Stripe', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('a customer', () => {
    it('is created once for an account, however often it is requested', async () => {
      const { accountUuid, customerId } = await fixture.createCustomer();
      const again = await fixture.stripe.createCustomer({ accountUuid, email: `${accountUuid}@example.com` });
      expect(again).to.equal(customerId);
      expect(fixture.fake.summarize().duplicateCustomers).to.deep.equal([]);
    });

    it('has a payment method after the first payment, and none after it was removed', async () => {
      const { customerId, url } = await fixture.openCheckout();
      expect(await fixture.stripe.findPaymentMethod(customerId)).to.equal(null);
      fixture.fake.completeCheckout(url);
      expect(await fixture.stripe.findPaymentMethod(customerId)).to.match(/^pm_/);
      fixture.fake.removePaymentMethod(customerId);
      expect(await fixture.stripe.findPaymentMethod(customerId)).to.equal(null);
    });

    it('has no payment method if it does not exist', async () => {
      expect(await fixture.stripe.findPaymentMethod('cus_unknown')).to.equal(null);
    });
  });

  describe('a subscription', () => {
    for (const { slug, priceYearlyCents } of DEFAULT_PLANS) {
      it(`to ${slug} starts with a paid checkout of ${priceYearlyCents} cents for one year`, async () => {
        const { accountUuid, customerId, url } = await fixture.openCheckout(slug);
        const session = fixture.fake.completeCheckout(url);
        const subscription = await fixture.readSubscription(session.subscription as string);
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

    it('is found by its checkout page, its invoice, and the list of recent subscriptions', async () => {
      const before = fixture.fake.now();
      const { url, subscriptionId } = await fixture.subscribe();
      const sessionId = url.split('/').at(-1) as string;
      const invoiceId = fixture.fake.store.get('subscription', subscriptionId).latest_invoice as string;
      expect(await fixture.stripe.readCheckoutSession(sessionId)).to.deep.equal({
        subscriptionId,
        intentId: null,
        isOpen: false,
        isFree: false,
      });
      expect(await fixture.stripe.findInvoiceSubscription(invoiceId)).to.equal(subscriptionId);
      expect(await collectAll(fixture.stripe.listSubscriptionsSince(before))).to.include(subscriptionId);
      expect(await collectAll(fixture.stripe.listSubscriptionsSince(new Date(Date.now() + 60_000)))).to.deep.equal([]);
    });

    it('has one open checkout page at a time: opening another expires the first', async () => {
      const { customerId, accountUuid, url } = await fixture.openCheckout('lite');
      fixture.fake.store.get('checkout.session', url.split('/').at(-1)).created -= 1;
      const request = { customerId, accountUuid, plan: 'pro', metadata: {} } as const;
      await fixture.stripe.openSubscriptionCheckout(request, RETURN_URLS, randomUUID());
      expect(() => fixture.fake.completeCheckout(url)).to.throw(/expired/);
      expect((await fixture.stripe.readCheckoutSession(url.split('/').at(-1) as string))?.isOpen).to.equal(false);
    });

    it('does not exist while the card on its page is declined, and is created with another card', async () => {
      const { url } = await fixture.openCheckout();
      const sessionId = url.split('/').at(-1) as string;
      fixture.fake.completeCheckout(url, { declined: true });
      expect(await fixture.stripe.readCheckoutSession(sessionId)).to.deep.equal({
        subscriptionId: null,
        intentId: null,
        isOpen: true,
        isFree: false,
      });
      fixture.fake.completeCheckout(url);
      expect((await fixture.stripe.readCheckoutSession(sessionId))?.subscriptionId).to.match(/^sub_/);
    });

    it('is incomplete while its payment is processing, and active after it succeeded', async () => {
      const { url } = await fixture.openCheckout();
      const subscriptionId = fixture.fake.completeCheckout(url, { async: true }).subscription as string;
      expect(await fixture.readSubscription(subscriptionId)).to.include({
        status: 'incomplete',
        isLatestInvoicePaid: false,
      });
      fixture.fake.settlePayment(url, 'succeeded');
      expect(await fixture.readSubscription(subscriptionId)).to.include({
        status: 'active',
        isLatestInvoicePaid: true,
      });
    });

    for (const as of ['flag', 'date'] as const) {
      it(`reports a cancellation at the end of its year (by a ${as}) until it is resumed`, async () => {
        const { subscriptionId } = await fixture.subscribe();
        fixture.fake.cancelAtPeriodEnd(subscriptionId, as);
        expect(await fixture.readSubscription(subscriptionId)).to.include({
          status: 'active',
          cancelAtPeriodEnd: true,
        });
        fixture.fake.resume(subscriptionId);
        expect(await fixture.readSubscription(subscriptionId)).to.include({
          status: 'active',
          cancelAtPeriodEnd: false,
        });
      });
    }

    it('is canceled immediately, and canceling it again is not an error', async () => {
      const { subscriptionId } = await fixture.subscribe();
      await fixture.stripe.cancelSubscription(subscriptionId);
      await fixture.stripe.cancelSubscription(subscriptionId);
      expect(await fixture.readSubscription(subscriptionId)).to.include({ status: 'canceled' });
    });

    it('is upgraded immediately and charged for the rest of the year', async () => {
      const { customerId, subscriptionId } = await fixture.subscribe('lite');
      const url = await fixture.stripe.openPlanChange(
        { customerId, subscriptionId, plan: 'studio' },
        RETURN_URLS.successUrl,
      );
      expect(fixture.fake.confirmPlanSwitch(url)).to.equal('switched');
      expect(await fixture.readSubscription(subscriptionId)).to.include({
        plan: 'studio',
        status: 'active',
        isLatestInvoicePaid: true,
      });
      const invoiceId = fixture.fake.store.get('subscription', subscriptionId).latest_invoice as string;
      expect(fixture.fake.store.get('invoice', invoiceId).amount_paid).to.be.within(82_700, 82_800);
    });

    it('keeps its plan while the card declines the difference', async () => {
      const { customerId, subscriptionId } = await fixture.subscribe('lite');
      fixture.fake.setCard(customerId, 'declined');
      const url = await fixture.stripe.openPlanChange(
        { customerId, subscriptionId, plan: 'studio' },
        RETURN_URLS.successUrl,
      );
      expect(fixture.fake.confirmPlanSwitch(url)).to.equal('declined');
      expect(await fixture.readSubscription(subscriptionId)).to.include({
        plan: 'lite',
        status: 'active',
        isLatestInvoicePaid: true,
      });
    });

    it('reads as null if it does not exist, like a page, an invoice, a payment, a charge and a dispute', async () => {
      expect(await fixture.stripe.readSubscription('sub_unknown')).to.equal(null);
      expect(await fixture.stripe.readCheckoutSession('cs_unknown')).to.equal(null);
      expect(await fixture.stripe.findInvoiceSubscription('in_unknown')).to.equal(null);
      expect(await fixture.stripe.readPayment('pi_unknown')).to.equal(null);
      expect(await fixture.stripe.readCharge('ch_unknown')).to.equal(null);
      expect(await fixture.stripe.findDisputedCharge('du_unknown')).to.equal(null);
      await fixture.stripe.cancelSubscription('sub_unknown');
    });

    it('has a portal page for its customer', async () => {
      const { customerId } = await fixture.createCustomer();
      expect(await fixture.stripe.openPortal(customerId, RETURN_URLS.successUrl)).to.match(/^http/);
    });
  });

  describe('a subscription whose plan is changed by the service', () => {
    it('changes its plan immediately and without a charge', async () => {
      const { subscriptionId } = await fixture.subscribe('studio');
      const before = fixture.fake.summarize().charges.succeeded;
      await fixture.stripe.changePrice(subscriptionId, fixture.fake.prices.lite);
      expect((await fixture.readSubscription(subscriptionId)).plan).to.equal('lite');
      expect(fixture.fake.summarize().charges.succeeded).to.equal(before);
    });
  });
});
