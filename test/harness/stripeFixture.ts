import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import {
  ProcessorError,
  type ProcessorPayment,
  type ProcessorSubscription,
  type TopupOrder,
} from '../../shared/gateways/payments/paymentProcessor.ts';
import type { StripeOptions } from '../../shared/gateways/payments/stripeClient.ts';
import { createStripeProcessor, type StripeProcessor } from '../../shared/gateways/payments/stripeProcessor.ts';
import { DEFAULT_PLANS, type PlanSlug } from '../../shared/spec/plans.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { getId } from '../fakes/stripe/store.ts';
import { captureError } from './expectRejection.ts';

export const RETURN_URLS = { successUrl: 'https://example.com/success', cancelUrl: 'https://example.com/canceled' };

/** An order of 1,896 credits for 50 dollars. */
export function buildTopupOrder(accountUuid: string = randomUUID()): TopupOrder {
  return { topupUuid: randomUUID(), accountUuid, amountCents: 5_000, credits: 1_896 };
}

/** A fake Stripe, the payment processor that uses it, and the objects that tests start from. */
export class StripeFixture {
  fake!: FakeStripe;
  stripe!: StripeProcessor;

  async start(): Promise<void> {
    this.fake = await new FakeStripe().start();
    this.stripe = createProcessor(this.fake);
  }

  async createCustomer(): Promise<{ accountUuid: string; customerId: string }> {
    const accountUuid = randomUUID();
    const customerId = await this.stripe.createCustomer({ accountUuid, email: `${accountUuid}@example.com` });
    return { accountUuid, customerId };
  }

  async openCheckout(plan: PlanSlug = 'pro', key: string = randomUUID()) {
    const customer = await this.createCustomer();
    const request = { ...customer, plan, metadata: { note: 'mine' } };
    const url = await this.stripe.openSubscriptionCheckout(request, RETURN_URLS, key);
    return { ...customer, url };
  }

  async subscribe(plan: PlanSlug = 'pro') {
    const opened = await this.openCheckout(plan);
    const subscriptionId = this.fake.completeCheckout(opened.url).subscription as string;
    return { ...opened, subscriptionId };
  }

  async readSubscription(subscriptionId: string): Promise<ProcessorSubscription> {
    return (await this.stripe.readSubscription(subscriptionId)) as ProcessorSubscription;
  }

  async readPayment(intentId: string): Promise<ProcessorPayment> {
    return (await this.stripe.readPayment(intentId)) as ProcessorPayment;
  }

  async buildCharge(customerId: string, accountUuid: string = randomUUID()) {
    const paymentMethodId = (await this.stripe.findPaymentMethod(customerId)) as string;
    return { customerId, paymentMethodId, ...buildTopupOrder(accountUuid) };
  }

  async chargeTopup() {
    const customer = await this.subscribe();
    const charge = await this.buildCharge(customer.customerId, customer.accountUuid);
    const { intentId } = await this.stripe.chargeTopup(charge);
    const chargeId = this.fake.store.get('payment_intent', intentId).latest_charge as string;
    return { ...customer, ...charge, intentId, chargeId };
  }

  async createPaidInvoice(plan: PlanSlug = 'pro') {
    const { subscriptionId, ...customer } = await this.subscribe(plan);
    const invoiceId = getId(this.fake.store.get('subscription', subscriptionId).latest_invoice);
    return { ...customer, subscriptionId, invoiceId, invoice: this.fake.store.get('invoice', invoiceId) };
  }

  readReversals(id: string) {
    return this.stripe.readReversals({ id, paidCents: 34_800, hasCreditNotes: false });
  }
}

export function createProcessor(fake: FakeStripe, options: Partial<StripeOptions> = {}): StripeProcessor {
  const { secretKey, webhookSecret, url: apiBase } = fake;
  const { lite, starter, pro, studio } = fake.prices;
  const prices = { lite: [lite], starter: [starter], pro: [pro, 'price_before'], studio: [studio] };
  return createStripeProcessor({
    secretKey,
    webhookSecret,
    prices,
    plans: DEFAULT_PLANS,
    apiBase,
    collectsTax: false,
    acceptsPromotionCodes: false,
    ...options,
  });
}

/** Returns the charge that paid the latest invoice of a subscription. */
export function getChargeId({ store }: FakeStripe, subscriptionId: string): string {
  const invoiceId = store.get('subscription', subscriptionId).latest_invoice;
  const entry = store.list('invoice_payment').find(({ invoice }) => invoice === invoiceId);
  return store.get('payment_intent', entry?.payment.payment_intent as string).latest_charge as string;
}

export async function collectAll(list: AsyncIterable<string>): Promise<string[]> {
  const items: string[] = [];
  for await (const item of list) items.push(item);
  return items;
}

export async function expectProcessorError(work: Promise<unknown>, fault: ProcessorError['fault']): Promise<void> {
  const error = await captureError(work);
  expect(error).to.be.instanceOf(ProcessorError);
  expect((error as ProcessorError).fault).to.equal(fault);
}
