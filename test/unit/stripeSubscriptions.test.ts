import { expect } from 'chai';
import { StripeFixture } from '../harness/stripeFixture.ts';

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
  });
});
