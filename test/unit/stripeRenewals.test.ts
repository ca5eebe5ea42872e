import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ProcessorSubscription } from '../../shared/gateways/payments/paymentProcessor.ts';
import type { StripeProcessor } from '../../shared/gateways/payments/stripeProcessor.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { buildTopupOrder, createProcessor, expectProcessorError, RETURN_URLS } from '../harness/stripeFixture.ts';

describe('renewals at Stripe', () => {
  describe('a subscription over several years', () => {
    // A separate fake, as these tests move its clock.
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
      const request = { accountUuid, customerId, plan: 'pro', metadata: {} } as const;
      const url = await stripe.openSubscriptionCheckout(request, RETURN_URLS, randomUUID());
      subscriptionId = years.completeCheckout(url).subscription as string;
    });
    afterEach(() => years.stop());

    for (const outcome of ['canceled', 'unpaid', 'past_due'] as const) {
      it(`becomes ${outcome}, if so configured, after all attempts have failed`, async () => {
        years.afterRetries = outcome;
        years.setCard(customerId, 'declined');
        years.advanceTo(new Date((await readIt()).currentPeriodEnd.getTime() + 30 * 86_400_000));
        expect(await readIt()).to.include({ status: outcome, isLatestInvoicePaid: false });
        expect(years.summarize().charges).to.include({ succeeded: 1, failed: 4 });
      });
    }

    it('rejects another plan change while one is scheduled', async () => {
      const lite = { customerId, subscriptionId, plan: 'lite' } as const;
      years.confirmPlanSwitch(await stripe.openPlanChange(lite, RETURN_URLS.successUrl));
      years.rejectsSwitchWhileScheduled = true;
      const studio = { ...lite, plan: 'studio' } as const;
      await expectProcessorError(stripe.openPlanChange(studio, RETURN_URLS.successUrl), 'rejected');
    });

    it('repeats a charge whose idempotency key is older than a day', async () => {
      const paymentMethodId = (await stripe.findPaymentMethod(customerId)) as string;
      const request = { customerId, paymentMethodId, ...buildTopupOrder() };
      await stripe.chargeTopup(request);
      years.advanceTo(new Date(Date.now() + 23 * 3_600_000));
      await stripe.chargeTopup(request);
      expect(years.summarize().doubleChargedTopups).to.deep.equal([]);
      years.advanceTo(new Date(Date.now() + 25 * 3_600_000));
      await stripe.chargeTopup(request);
      expect(years.summarize().doubleChargedTopups).to.deep.equal([request.topupUuid]);
    });
  });
});
