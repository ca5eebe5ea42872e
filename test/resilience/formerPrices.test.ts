import { expect } from 'chai';
import { addPrice } from '../fakes/stripe/catalog.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { BillingService } from '../harness/billingService.ts';
import { startTestService } from '../harness/testService.ts';

describe('a customer with a former price of a plan', () => {
  let billing: BillingService;
  let former: string;
  before(async () => {
    const stripe = await new FakeStripe().start();
    former = addPrice(stripe.store, { product: 'prod_lite', unitAmount: 6_000 }).id;
    const STRIPE_PRICE_LITE = `${stripe.prices.lite},${former}`;
    const service = await startTestService({ env: { ...stripe.environment, STRIPE_PRICE_LITE } });
    stripe.webhookUrl = `${service.baseUrl}/api/billing/webhooks/processor/`;
    billing = new BillingService(stripe, service);
  });
  after(() => billing.stop());

  it('returns to that price when an upgrade is refunded', async () => {
    const { stripe } = billing;
    const customer = await billing.createCustomer(null);
    const { body } = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    const page = stripe.store.list('checkout.session')[0]?.id as string;
    Object.assign(stripe.store.checkoutParams.get(page) as object, { price: former });
    const { invoice: year } = stripe.completeCheckout(body.checkout_url);
    await billing.drained();
    const upgrade = await customer.request('POST', '/api/billing/checkout/', { body: { plan: 'pro' } });
    stripe.confirmPlanSwitch(upgrade.body.checkout_url);
    await billing.drained();
    const subscription = stripe.findSubscription(billing.customerId(customer));
    expect(subscription.items.data[0]?.price.id).to.equal(stripe.prices.pro);
    expect(subscription.latest_invoice).to.not.equal(year);
    stripe.refund(subscription.latest_invoice as string);
    await billing.drained();
    expect(subscription.items.data[0]?.price.id).to.equal(former);
    // The comparison at the end has only the price that is sold.
    stripe.cancelNow(subscription.id);
    await billing.drained();
  });
});
