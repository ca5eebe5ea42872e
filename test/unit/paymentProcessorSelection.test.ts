import { expect } from 'chai';
import * as payments from '../../shared/gateways/payments/index.ts';
import type { Config } from '../../shared/lib/config.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { setTestConfig } from '../harness/testConfig.ts';

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

  it('requires a valid price of its own for each plan of a CATALOG', async () => {
    const terms = { price_monthly_cents: 900, monthly_credits: 300, parallel_limit: 2 };
    const plans = { 'small-team': { ...terms, name: 'Team' }, solo: { ...terms, name: 'Solo', hidden: true } };
    const CATALOG = JSON.stringify({ plans });
    setTestConfig({ CATALOG });
    const openWith = (prices: object) =>
      open({ STRIPE_SECRET_KEY: 'sk_test_x', STRIPE_WEBHOOK_SECRET: 'whsec_x', CATALOG, ...prices });
    const [STRIPE_PRICE_SMALL_TEAM, STRIPE_PRICE_SOLO] = ['price_1,price_2', 'price_3'];
    await openWith({ STRIPE_PRICE_SMALL_TEAM, STRIPE_PRICE_SOLO });
    await expectRejection(
      openWith({ STRIPE_PRICE_SMALL_TEAM }),
      /^STRIPE_PRICE_SOLO is not set, but STRIPE_SECRET_KEY is/,
    );
    await expectRejection(
      openWith({ STRIPE_PRICE_SMALL_TEAM, STRIPE_PRICE_SOLO: 'prod_1' }),
      /^STRIPE_PRICE_SOLO must be a Stripe price id/,
    );
    await expectRejection(
      openWith({ STRIPE_PRICE_SMALL_TEAM, STRIPE_PRICE_SOLO: 'price_2' }),
      /^STRIPE_PRICE_SOLO must not contain price_2, which is also in STRIPE_PRICE_SMALL_TEAM\.$/,
    );
    setTestConfig();
  });

  it('succeeds with every simulated payment immediately, without a page, and repeats its result', async () => {
    await open({});
    const customerId = await payments.processor.createCustomer({ accountUuid: 'a', email: 'a@example.com' });
    const order = { customerId, topupUuid: 't', accountUuid: 'a', amountCents: 5_000, credits: 1 };
    const paymentMethodId = (await payments.processor.findPaymentMethod(customerId)) as string;
    const charged = await payments.processor.chargeTopup({ ...order, paymentMethodId });
    expect(charged).to.include({ topupUuid: 't', status: 'succeeded', amountCents: 5_000, reversedCents: 0 });
    const { paidAt: _paidAt, ...payment } = charged;
    expect(await payments.processor.chargeTopup({ ...order, paymentMethodId })).to.deep.include(payment);
    const addresses = { successUrl: 'https://example.com/', cancelUrl: 'https://example.com/' };
    const checkout = await payments.processor.openTopupCheckout(order, addresses);
    expect(checkout).to.include({ url: null });
    expect(checkout).to.have.property('payment').that.deep.includes(payment);
  });
});
