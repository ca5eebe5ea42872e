import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createStripeClient } from '../../shared/gateways/payments/stripeClient.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { addPaymentIntent } from '../fakes/stripe/paymentIntents.ts';
import { captureError } from '../harness/expectRejection.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import {
  buildTopupOrder,
  collectAll,
  createProcessor,
  expectProcessorError,
  RETURN_URLS,
  StripeFixture,
} from '../harness/stripeFixture.ts';

describe('faults of Stripe', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('Stripe with faults', () => {
    for (const fault of ['error', 'busy', 'drop'] as const) {
      it(`fails every request as unavailable (${fault})`, async () => {
        const { customerId, accountUuid, subscriptionId, paymentMethodId, topupUuid, chargeId } =
          await fixture.chargeTopup();
        fixture.fake.faults.all = fault;
        const request = { customerId, accountUuid, subscriptionId, plan: 'lite', metadata: {} } as const;
        const topup = { customerId, paymentMethodId, ...buildTopupOrder(accountUuid), topupUuid };
        const calls: Promise<unknown>[] = [
          fixture.stripe.createCustomer({ accountUuid: randomUUID(), email: 'a@example.com' }),
          fixture.stripe.findPaymentMethod(customerId),
          fixture.stripe.openSubscriptionCheckout(request, RETURN_URLS, randomUUID()),
          fixture.stripe.openPlanChange(request, RETURN_URLS.successUrl),
          fixture.stripe.openPortal(customerId, RETURN_URLS.successUrl),
          fixture.stripe.openTopupCheckout(topup, RETURN_URLS),
          fixture.stripe.chargeTopup(topup),
          fixture.stripe.readSubscription(subscriptionId),
          fixture.stripe.cancelSubscription(subscriptionId),
          fixture.stripe.readPayment('pi_1'),
          fixture.stripe.findCollectionTime('pi_1', new Date()),
          fixture.stripe.readCheckoutSession('cs_1'),
          fixture.stripe.readCharge(chargeId),
          fixture.stripe.findDisputedCharge('du_1'),
          fixture.stripe.findInvoiceSubscription('in_1'),
          collectAll(fixture.stripe.listSubscriptionsSince(new Date())),
          collectAll(fixture.stripe.listPaymentsSince(new Date())),
        ];
        await Promise.all(calls.map((work) => expectProcessorError(work, 'unavailable')));
      });
    }

    it('is unavailable after two attempts without a response in four seconds', async () => {
      fixture.fake.faults['subscriptions.retrieve'] = 'hang';
      const startedAt = performance.now();
      await expectProcessorError(fixture.stripe.readSubscription('sub_1'), 'unavailable');
      expect(performance.now() - startedAt).to.be.within(7_500, scaleTimeout(15_000));
    });

    it('is unavailable when it cannot be reached or rejects the secret key, as earlier outcomes are unknown', async () => {
      const gone = await new FakeStripe().start();
      await gone.stop();
      await expectProcessorError(createProcessor(gone).readSubscription('sub_1'), 'unavailable');
      const unauthorized = createProcessor(fixture.fake, { secretKey: 'sk_test_other' });
      await expectProcessorError(unauthorized.readSubscription('sub_1'), 'unavailable');
    });

    for (const fault of ['error', 'drop', 'drop after doing'] as const) {
      it(`retries a call that fails once (${fault})`, async () => {
        const { customerId } = await fixture.subscribe();
        fixture.fake.faults['intents.create'] = { how: fault, times: 1 };
        const request = await fixture.buildCharge(customerId);
        expect(await fixture.stripe.chargeTopup(request)).to.include({ status: 'succeeded' });
        expect(fixture.fake.summarize().topups.get(request.topupUuid)).to.include({ succeeded: 1, failed: 0 });
      });
    }

    it('returns the outcome of the first charge when a charge without a response is repeated', async () => {
      for (const [card, status] of [
        ['ok', 'succeeded'],
        ['declined', 'failed'],
      ] as const) {
        const { customerId } = await fixture.subscribe();
        fixture.fake.setCard(customerId, card);
        const request = await fixture.buildCharge(customerId);
        fixture.fake.faults['intents.create'] = 'drop after doing';
        await expectProcessorError(fixture.stripe.chargeTopup(request), 'unavailable');
        delete fixture.fake.faults['intents.create'];
        fixture.fake.setCard(customerId, card === 'ok' ? 'declined' : 'ok');
        expect(await fixture.stripe.chargeTopup(request)).to.include({ topupUuid: request.topupUuid, status });
        const { succeeded, failed } = fixture.fake.summarize().topups.get(request.topupUuid) ?? {};
        expect([succeeded, failed]).to.deep.equal(card === 'ok' ? [1, 0] : [0, 1]);
      }
    });

    it('keeps failing a charge for a day if Stripe saved its 500 response', async () => {
      const { customerId } = await fixture.subscribe();
      const request = await fixture.buildCharge(customerId);
      fixture.fake.faults['intents.create'] = { how: 'error kept', times: 1 };
      await expectProcessorError(fixture.stripe.chargeTopup(request), 'unavailable');
      await expectProcessorError(fixture.stripe.chargeTopup(request), 'unavailable');
      expect(fixture.fake.summarize().topups.get(request.topupUuid)).to.equal(undefined);
    });

    it('does not take an intent that Stripe left unconfirmed for a decline, or for a charge', async () => {
      const { customerId } = await fixture.subscribe();
      const request = await fixture.buildCharge(customerId);
      fixture.fake.faults['intents.create'] = { how: 'error kept', times: 1 };
      await expectProcessorError(fixture.stripe.chargeTopup(request), 'unavailable');
      const metadata = { topup_uuid: request.topupUuid };
      const { id } = addPaymentIntent(fixture.fake.store, { amount: 5_000, customer: customerId, metadata });
      expect(await fixture.stripe.readPayment(id)).to.include({ status: 'pending', failureCode: null });
      expect(await fixture.stripe.findPayment(customerId, request.topupUuid, new Date(0))).to.equal(null);
    });

    it('charges a top-up once for two concurrent requests', async () => {
      const { customerId } = await fixture.subscribe();
      const request = await fixture.buildCharge(customerId);
      fixture.fake.latencyMs = 100;
      const [first, second] = await Promise.all([
        fixture.stripe.chargeTopup(request),
        fixture.stripe.chargeTopup(request),
      ]);
      expect(second).to.deep.equal(first);
      expect(fixture.fake.summarize().topups.get(request.topupUuid)).to.include({ succeeded: 1 });
    });

    it('ends a subscription although the response was lost', async () => {
      const { subscriptionId } = await fixture.subscribe();
      fixture.fake.faults['subscriptions.cancel'] = { how: 'drop after doing', times: 1 };
      await fixture.stripe.cancelSubscription(subscriptionId);
      expect(await fixture.readSubscription(subscriptionId)).to.include({ status: 'canceled' });
    });
  });

  it('replays the error of a request that failed while it executed, under the same idempotency key', async () => {
    const api = createStripeClient(fixture.fake.secretKey, fixture.fake.url);
    const key = { idempotencyKey: randomUUID() };
    const request = { amount: 5_000, currency: 'usd', customer: 'cus_missing', confirm: true, off_session: true };
    const params = { ...request, automatic_payment_methods: { enabled: true, allow_redirects: 'never' as const } };
    const fails = async (changed: object) =>
      (await captureError(api.paymentIntents.create({ ...params, ...changed }, key))) as {
        code?: string;
        type?: string;
      };
    expect(await fails({ amount: 'x' as never })).to.include({ code: 'parameter_invalid_integer' });
    expect(await fails({ payment_method: 'pm_x' })).to.include({ code: 'resource_missing' });
    const before = fixture.fake.requests.length;
    expect(await fails({ payment_method: 'pm_x' })).to.include({ code: 'resource_missing' });
    expect(fixture.fake.requests.length).to.equal(before + 1);
    expect(await fails({ payment_method: 'pm_y' })).to.include({ type: 'StripeIdempotencyError' });
  });
});
