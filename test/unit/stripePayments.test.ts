import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { captureError } from '../harness/expectRejection.ts';
import {
  buildTopupOrder,
  collectAll,
  expectProcessorError,
  RETURN_URLS,
  StripeFixture,
} from '../harness/stripeFixture.ts';

describe('payments at Stripe', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('a top-up', () => {
    it('is paid on a page, and stores the card for later charges', async () => {
      const { customerId, accountUuid } = await fixture.createCustomer();
      const order = buildTopupOrder(accountUuid);
      const request = { customerId, ...order };
      const { sessionId, url } = await fixture.stripe.openTopupCheckout(request, RETURN_URLS);
      expect(await fixture.stripe.openTopupCheckout(request, RETURN_URLS)).to.deep.equal({ sessionId, url });
      expect(await fixture.stripe.readCheckoutSession(sessionId)).to.deep.equal({
        subscriptionId: null,
        intentId: null,
        mayBePaid: true,
        isFree: false,
      });
      fixture.fake.completeCheckout(url);
      const intentId = (await fixture.stripe.readCheckoutSession(sessionId))?.intentId as string;
      const paid = {
        intentId,
        topupUuid: order.topupUuid,
        order,
        isAutomatic: false,
        paidAt: new Date(1_000 * fixture.fake.store.now()),
        isDelayed: false,
        status: 'succeeded',
        amountCents: 5_000,
        taxCents: 0,
        discountCents: 0,
        reversedCents: 0,
        isDisputed: false,
        failureCode: null,
      };
      expect(await fixture.readPayment(intentId)).to.deep.equal(paid);
      expect(await fixture.stripe.findPaymentMethod(customerId)).to.match(/^pm_/);
    });

    it('is rejected with a removed card, a card of another customer, and an amount that is too small', async () => {
      const { customerId } = await fixture.subscribe();
      const request = await fixture.buildCharge(customerId);
      const other = await fixture.buildCharge((await fixture.subscribe()).customerId);
      for (const bad of [
        { amountCents: 49 },
        { customerId: 'cus_unknown' },
        { paymentMethodId: other.paymentMethodId },
      ]) {
        await expectProcessorError(
          fixture.stripe.chargeTopup({ ...request, ...bad, topupUuid: randomUUID() }),
          'rejected',
        );
      }
      fixture.fake.removePaymentMethod(customerId);
      await expectProcessorError(fixture.stripe.chargeTopup(request), 'rejected');
    });

    it('has an unknown outcome when it is charged again for another amount', async () => {
      const { topupUuid, ...charged } = await fixture.chargeTopup();
      await expectProcessorError(
        fixture.stripe.chargeTopup({ ...charged, topupUuid, amountCents: 6_000 }),
        'unavailable',
      );
      expect(fixture.fake.summarize().topups.get(topupUuid)).to.include({ succeeded: 1, paidCents: 5_000 });
    });

    it('is not reversed by an inquiry, and never by more than was paid', async () => {
      const { intentId } = await fixture.chargeTopup();
      fixture.fake.openDispute(intentId, { isInquiry: true });
      expect(await fixture.readPayment(intentId)).to.include({ reversedCents: 0 });
      fixture.fake.refund(intentId);
      fixture.fake.openDispute(intentId);
      expect(await fixture.readPayment(intentId)).to.include({ reversedCents: 5_000 });
    });

    it('is disputed and refunded when a dispute was prevented by a refund', async () => {
      const { intentId } = await fixture.chargeTopup();
      fixture.fake.openDispute(intentId, { isPrevented: true });
      expect(await fixture.readPayment(intentId)).to.include({ isDisputed: true, reversedCents: 5_000 });
    });

    it('is listed with recent payments, page after page', async () => {
      const { customerId } = await fixture.subscribe();
      const since = fixture.fake.now();
      const orders = await Promise.all(Array.from({ length: 12 }, () => fixture.buildCharge(customerId)));
      const made = await Promise.all(orders.map((request) => fixture.stripe.chargeTopup(request)));
      const listed = await collectAll(fixture.stripe.listPaymentsSince(since));
      expect(listed).to.include.members(made.map(({ intentId }) => intentId));
      expect(new Set(listed).size).to.equal(listed.length);
    });
  });

  it('opens checkout pages in one currency, wherever the customer is', async () => {
    const { customerId } = await fixture.openCheckout();
    await fixture.stripe.openTopupCheckout({ customerId, ...buildTopupOrder() }, RETURN_URLS);
    const opened = fixture.fake.requests.filter(({ name }) => name === 'checkout.create').slice(-2);
    expect(opened.map(({ params }) => (params as any).mode)).to.deep.equal(['subscription', 'payment']);
    for (const { params } of opened) expect((params as any).adaptive_pricing).to.deep.equal({ enabled: 'false' });
  });

  it('opens a top-up page for a customer who replaces a deleted one, despite saved idempotency keys', async () => {
    const customer = (replaces?: string) =>
      fixture.stripe.createCustomer({ accountUuid: uuid, email: 'a@example.com', ...(replaces && { replaces }) });
    const uuid = randomUUID();
    const deleted = await customer();
    fixture.fake.deleteCustomer(deleted);
    expect(await fixture.stripe.findPaymentMethod(deleted)).to.equal(null);
    const request = buildTopupOrder();
    const error = await captureError(
      fixture.stripe.openTopupCheckout({ ...request, customerId: deleted }, RETURN_URLS),
    );
    expect(error).to.include({ fault: 'rejected', isCustomerGone: true });
    const page = await fixture.stripe.openTopupCheckout(
      { ...request, customerId: await customer(deleted) },
      RETURN_URLS,
    );
    expect(page.url).to.include('/pay/');
  });
});
