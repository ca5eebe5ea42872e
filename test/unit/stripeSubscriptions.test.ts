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
        mayBePaid: false,
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
      expect((await fixture.stripe.readCheckoutSession(url.split('/').at(-1) as string))?.mayBePaid).to.equal(false);
    });

    it('does not exist while the card on its page is declined, and is created with another card', async () => {
      const { url } = await fixture.openCheckout();
      const sessionId = url.split('/').at(-1) as string;
      fixture.fake.completeCheckout(url, { declined: true });
      expect(await fixture.stripe.readCheckoutSession(sessionId)).to.deep.equal({
        subscriptionId: null,
        intentId: null,
        mayBePaid: true,
        isFree: false,
      });
      fixture.fake.completeCheckout(url);
      expect((await fixture.stripe.readCheckoutSession(sessionId))?.subscriptionId).to.match(/^sub_/);
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
});
