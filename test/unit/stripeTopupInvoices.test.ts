import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type Stripe from 'stripe';
import { captureError } from '../harness/expectRejection.ts';
import { buildTopupOrder, createProcessor, RETURN_URLS, StripeFixture } from '../harness/stripeFixture.ts';
import type { StripeRequestName } from '../fakes/stripe/routes.ts';

describe('invoices of top-ups at Stripe', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => {
    fixture.fake.reset();
    fixture.fake.store.promotionCodes.clear();
  });
  after(() => fixture.fake.stop());

  const withTax = () => createProcessor(fixture.fake, { collectsTax: true });
  const withCodes = () => createProcessor(fixture.fake, { acceptsPromotionCodes: true });
  const lastRequest = (name: StripeRequestName) => fixture.fake.requests.findLast((request) => request.name === name);
  const countIntents = (topupUuid: string) =>
    fixture.fake.store.list('payment_intent').filter(({ metadata }) => metadata['topup_uuid'] === topupUuid).length;
  const setAddress = (customerId: string) => {
    fixture.fake.store.get('customer', customerId).address = { country: 'DE' } as Stripe.Address;
  };

  /** Opens and pays a page. */
  async function payOnPage(processor = fixture.stripe, promotionCode?: string) {
    const { customerId, accountUuid } = await fixture.createCustomer();
    const order = buildTopupOrder(accountUuid);
    const { url } = await processor.openTopupCheckout({ customerId, ...order }, RETURN_URLS);
    const session = fixture.fake.completeCheckout(url, promotionCode === undefined ? {} : { promotionCode });
    return { customerId, order, session, intentId: session.payment_intent as string };
  }

  describe('without tax and promotion codes', () => {
    it('are requested with the page, and nothing else of the request differs from a page without an invoice', async () => {
      const { order, customerId } = await payOnPage();
      const metadata = {
        topup_uuid: order.topupUuid,
        account_uuid: order.accountUuid,
        amount_cents: '5000',
        credits: '1896',
      };
      expect(lastRequest('checkout.create')?.params).to.deep.equal({
        mode: 'payment',
        customer: customerId,
        line_items: [
          {
            quantity: '1',
            price_data: { currency: 'usd', unit_amount: '5000', product_data: { name: '1896 credits' } },
          },
        ],
        adaptive_pricing: { enabled: 'false' },
        invoice_creation: { enabled: 'true', invoice_data: { metadata } },
        metadata,
        payment_intent_data: { metadata, setup_future_usage: 'off_session' },
        success_url: RETURN_URLS.successUrl,
        cancel_url: RETURN_URLS.cancelUrl,
      });
    });

    it('are issued for a payment without a page, once, and the request for the payment names no tax', async () => {
      const { intentId, topupUuid, accountUuid, customerId, paymentMethodId } = await fixture.chargeTopup();
      expect(lastRequest('intents.create')?.params).to.deep.equal({
        amount: '5000',
        currency: 'usd',
        customer: customerId,
        payment_method: paymentMethodId,
        off_session: 'true',
        confirm: 'true',
        automatic_payment_methods: { enabled: 'true', allow_redirects: 'never' },
        metadata: {
          topup_uuid: topupUuid,
          account_uuid: accountUuid,
          amount_cents: '5000',
          credits: '1896',
          kind: 'automatic',
        },
      });
      const issued = await fixture.stripe.issueTopupInvoice(intentId);
      expect(issued).to.deep.include({ topupUuid, intentId });
      expect(issued?.document).to.include({ status: 'paid', totalCents: 5_000, taxCents: 0 });
      expect(await fixture.stripe.issueTopupInvoice(intentId)).to.deep.equal(issued);
      expect(fixture.fake.summarize().topups.get(topupUuid)).to.deep.include({ succeeded: 1, paidCents: 5_000 });
      expect(fixture.fake.summarize().topups.get(topupUuid)?.invoices).to.have.length(1);
    });

    const steps: StripeRequestName[] = [
      'invoices.create',
      'invoiceItems.create',
      'invoices.finalize',
      'invoices.attachPayment',
    ];
    for (const step of steps) {
      it(`are issued once and charge nothing if the response to ${step} is lost`, async () => {
        const { intentId, topupUuid } = await fixture.chargeTopup();
        fixture.fake.faults[step] = 'drop after doing';
        await captureError(fixture.stripe.issueTopupInvoice(intentId));
        delete fixture.fake.faults[step];
        expect((await fixture.stripe.issueTopupInvoice(intentId))?.document.status).to.equal('paid');
        expect(fixture.fake.summarize().topups.get(topupUuid)?.invoices).to.have.length(1);
        expect(countIntents(topupUuid)).to.equal(1);
      });
    }

    it('are not issued for a customer with a balance, which Stripe would apply', async () => {
      const { intentId, topupUuid, customerId } = await fixture.chargeTopup();
      const customer = fixture.fake.store.get('customer', customerId);
      for (const balance of [-1_200, -9_000, 300]) {
        customer.balance = balance;
        const error = await captureError(fixture.stripe.issueTopupInvoice(intentId));
        expect(error).to.include({ fault: 'rejected' });
        expect(customer.balance).to.equal(balance);
        expect(fixture.fake.findTopupInvoice(topupUuid)?.status).to.equal('draft');
      }
      customer.balance = 0;
      expect((await fixture.stripe.issueTopupInvoice(intentId))?.document.status).to.equal('paid');
    });

    it('are not issued for a failed payment, an unknown one, or one for something else', async () => {
      const { customerId, subscriptionId } = await fixture.subscribe();
      fixture.fake.setCard(customerId, 'declined');
      const declined = await fixture.stripe.chargeTopup(await fixture.buildCharge(customerId));
      const [entry] = fixture.fake.store.list('invoice_payment');
      expect(subscriptionId).to.match(/^sub_/);
      for (const id of [declined.intentId, 'pi_unknown', entry?.payment.payment_intent as string])
        expect(await fixture.stripe.issueTopupInvoice(id), id).to.equal(null);
    });
  });

  describe('with tax', () => {
    beforeEach(() => {
      fixture.fake.store.taxPercent = 19;
    });

    it('add tax on a page to the order, and the payment says how much', async () => {
      const { intentId, order, customerId } = await payOnPage(withTax());
      expect(await fixture.readPayment(intentId)).to.deep.include({
        amountCents: 5_950,
        taxCents: 950,
        discountCents: 0,
        order,
      });
      expect((await fixture.stripe.findTopupInvoice(intentId))?.document).to.include({
        totalCents: 5_950,
        taxCents: 950,
      });
      expect(fixture.fake.store.get('customer', customerId).address).to.include({ country: 'DE' });
      const { params } = lastRequest('checkout.create') as { params: any };
      expect(params).to.deep.include({
        automatic_tax: { enabled: 'true' },
        customer_update: { address: 'auto', name: 'auto' },
        billing_address_collection: 'required',
        tax_id_collection: { enabled: 'true' },
      });
      expect(params.line_items[0].price_data.tax_behavior).to.equal('exclusive');
    });

    it('leave no draft after a decline', async () => {
      const { customerId } = await fixture.subscribe();
      setAddress(customerId);
      fixture.fake.setCard(customerId, 'declined');
      const charge = await fixture.buildCharge(customerId);
      expect(await withTax().chargeTopup(charge)).to.include({ status: 'failed', failureCode: 'declined' });
      expect(fixture.fake.findTopupInvoice(charge.topupUuid)).to.equal(undefined);
    });

    it('are withdrawn if the tax has changed since the payment', async () => {
      const { customerId } = await fixture.subscribe();
      setAddress(customerId);
      const charge = await fixture.buildCharge(customerId);
      const { intentId } = await withTax().chargeTopup(charge);
      // Stripe computes tax again when it finalizes an invoice.
      fixture.fake.store.taxPercent = 25;
      const { total, id } = fixture.fake.findTopupInvoice(charge.topupUuid) as Stripe.Invoice;
      expect(total).to.equal(5_950);
      expect(await captureError(withTax().issueTopupInvoice(intentId))).to.include({ fault: 'rejected' });
      expect(fixture.fake.store.get('invoice', id)).to.include({ status: 'void', total: 6_250 });
      expect(fixture.fake.findTopupInvoice(charge.topupUuid)).to.equal(undefined);
    });
  });

  describe('with promotion codes', () => {
    it('take a discount off the payment, and the payment says how much', async () => {
      fixture.fake.store.promotionCodes.set('TEN', { percentOff: 10 });
      const { intentId } = await payOnPage(withCodes(), 'TEN');
      const amounts = { amountCents: 4_500, taxCents: 0, discountCents: 500 };
      expect(await fixture.readPayment(intentId)).to.include(amounts);
      expect((await fixture.stripe.findTopupInvoice(intentId))?.document).to.include({
        totalCents: 4_500,
        discountCents: 500,
      });
      const { params } = lastRequest('checkout.create') as { params: any };
      expect(params.allow_promotion_codes).to.equal('true');
      expect(params.line_items[0].price_data.product_data.description).to.include('credits in the same proportion');
    });

    it('start a subscription without a payment if the discount covers everything, which earns no commission', async () => {
      fixture.fake.store.promotionCodes.set('ALL', { percentOff: 100 });
      const { customerId, accountUuid } = await fixture.createCustomer();
      const request = { customerId, accountUuid, plan: 'pro' as const, metadata: {} };
      const url = await withCodes().openSubscriptionCheckout(request, RETURN_URLS, randomUUID());
      const session = fixture.fake.completeCheckout(url, { promotionCode: 'ALL' });
      const subscription = await fixture.readSubscription(session.subscription as string);
      expect(subscription).to.include({ status: 'active', plan: 'pro', isLatestInvoicePaid: true });
      expect(subscription.documents).to.have.length(1);
      expect(await withCodes().readInvoice(session.invoice as string)).to.include({ paidCents: 0, netCents: 0 });
    });
  });
});
