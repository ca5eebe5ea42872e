import { expect } from 'chai';
import * as payments from '../../shared/gateways/payments/index.ts';
import type { Config } from '../../shared/lib/config.ts';

const STRIPE = {
  STRIPE_SECRET_KEY: 'sk_test_x',
  STRIPE_WEBHOOK_SECRET: 'whsec_x',
  STRIPE_PRICE_LITE: 'price_1',
  STRIPE_PRICE_STARTER: 'price_2',
  STRIPE_PRICE_PRO: 'price_3',
  STRIPE_PRICE_STUDIO: 'price_4, price_5',
};

const open = (config: object) => payments.openPaymentProcessor(config as Config);

describe('the payment processor', () => {
  it('is simulated without STRIPE_SECRET_KEY, Stripe with it, and can be opened again', async () => {
    await open({});
    expect(payments.processor.isSimulated).to.equal(true);
    await open(STRIPE);
    expect(payments.processor.isSimulated).to.equal(false);
    await open({});
    expect(payments.processor.isSimulated).to.equal(true);
  });

  it('succeeds with every simulated payment immediately, without a page, and repeats its result', async () => {
    await open({});
    const customerId = await payments.processor.createCustomer({ accountUuid: 'a', email: 'a@example.com' });
    const order = { customerId, topupUuid: 't', accountUuid: 'a', amountCents: 5_000, credits: 1 };
    const paymentMethodId = (await payments.processor.findPaymentMethod(customerId)) as string;
    const charged = await payments.processor.chargeTopup({ ...order, paymentMethodId });
    expect(charged).to.include({ topupUuid: 't', status: 'succeeded', amountCents: 5_000, reversedCents: 0 });
    expect(await payments.processor.chargeTopup({ ...order, paymentMethodId })).to.deep.equal(charged);
    const addresses = { successUrl: 'https://example.com/', cancelUrl: 'https://example.com/' };
    const checkout = await payments.processor.openTopupCheckout(order, addresses);
    expect(checkout).to.deep.equal({ url: null, payment: charged });
  });
});
