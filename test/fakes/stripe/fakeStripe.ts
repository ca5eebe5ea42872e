import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Stripe from 'stripe';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import { StripeApiServer } from './apiServer.ts';
import { type AfterFailedRetries, advanceClock, retryCollection, DRAFT_SECONDS } from './testClock.ts';
import { StripeStore, type CardBehavior, getId } from './store.ts';
import { setUpPlans } from './catalog.ts';
import { type Onboarding, setOnboardingState } from './connect.ts';
import { type CheckoutOptions, completeSession, settleAsyncPayment } from './checkout.ts';
import { addPaymentMethod, detachPaymentMethod, listPaymentMethods } from './customers.ts';
import { WebhookDelivery } from './webhookDelivery.ts';
import { createStripeEvent, type HandledEvent, type FakeStripeEvent } from './events.ts';
import { findOrCreateInvoiceIntent } from './invoices.ts';
import { creditOutOfBand, payInvoiceOutOfBand } from './outOfBand.ts';
import { applyPlanSwitch, type SwitchOutcome } from './planSwitch.ts';
import { findCustomerId, findCheckoutSession, findSubscription } from './references.ts';
import {
  closeDispute,
  type DisputeOptions,
  escalateDispute,
  failRefund,
  openDispute,
  createRefund,
} from './reversals.ts';
import { cancelAtPeriodEnd, endSubscription, getItem, resumeSubscription } from './subscriptions.ts';
import { type StripeSummary, summarizeStore } from './summary.ts';

export interface FakeStripeOptions {
  /** Nothing is set up yet: no prices, no portal. */
  isEmpty?: boolean;
  /** Of what `delivery` leaves to chance. */
  seed?: number;
}

/**
 * Stripe, as far as the service uses it, over real HTTP: with books of its own, idempotency keys, a clock that tests
 * move, signed events, and faults of its API and of its deliveries on demand. What the customer, the operator and
 * their banks do are methods.
 *
 * Where one takes a reference to a customer, it is the customer's id, a subscription's or a page's of theirs, or the
 * account's uuid.
 */
export class FakeStripe {
  readonly secretKey = 'sk_test_standin';
  readonly webhookSecret: string;
  /** The ids of the plans' prices. */
  prices: Record<PlanSlug, string>;
  url = '';
  /** All that was told of, delivered or not. */
  readonly events: FakeStripeEvent[] = [];
  readonly delivery: WebhookDelivery;
  /** Lets every renewal be declined, whatever the card. */
  failRenewals = false;
  /** What becomes of a subscription when all attempts on its renewal have failed. */
  afterRetries: AfterFailedRetries = 'canceled';
  /** Its objects, for tests that look closer than `books()`. */
  readonly store = new StripeStore();
  private readonly apiServer = new StripeApiServer(this.store, this.secretKey);
  private readonly server = createServer((request, response) => {
    void this.apiServer.handle(request, response);
  });

  constructor({ isEmpty = false, seed = 1 }: FakeStripeOptions = {}) {
    this.webhookSecret = this.store.webhookSecret;
    this.delivery = new WebhookDelivery(this.webhookSecret, seed);
    this.prices = isEmpty ? ({} as Record<PlanSlug, string>) : setUpPlans(this.store);
    this.store.onEvent = (type, object, previous) => this.deliver(type, object as { id: string }, previous);
  }

  async start(port = 0): Promise<this> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    this.store.url = this.url;
    return this;
  }

  /** From now on connections are refused, and nothing is delivered. */
  async stop(): Promise<void> {
    this.delivery.stop();
    if (!this.server.listening) return;
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  /** By the name of a request, such as `intents.create`, or `all`. */
  get faults() {
    return this.apiServer.faults;
  }

  /** What was asked so far. */
  get requests() {
    return this.apiServer.requests;
  }

  /** How long each request takes. */
  set latencyMs(latencyMs: number) {
    this.apiServer.latencyMs = latencyMs;
  }

  /** Where events are posted to; nowhere, if it is not set. */
  get webhookUrl(): string | undefined {
    return this.delivery.webhookUrl;
  }

  set webhookUrl(url: string | undefined) {
    this.delivery.webhookUrl = url;
  }

  /** How far its clock is ahead. To let on the way happen what is due, use `advanceTo`. */
  get clockOffsetMs(): number {
    return this.store.clockOffsetMs;
  }

  set clockOffsetMs(offsetMs: number) {
    this.store.clockOffsetMs = offsetMs;
  }

  /** Lets the portal turn down a switch while another one is scheduled for the renewal; it takes it otherwise. */
  set refusesSwitchWhileScheduled(refuses: boolean) {
    this.store.rejectsSwitchWhileScheduled = refuses;
  }

  now(): Date {
    return new Date(Date.now() + this.clockOffsetMs);
  }

  /** Makes it behave again: no faults, no delays, nothing dropped any more. */
  reset(): void {
    for (const name of Object.keys(this.faults)) delete this.faults[name as keyof typeof this.faults];
    this.latencyMs = 0;
    this.failRenewals = false;
    this.refusesSwitchWhileScheduled = false;
    this.delivery.reset();
  }

  /** Resolves when all events were taken by the webhook. @throws Error if it would not take one. */
  drained(): Promise<void> {
    return this.delivery.drained();
  }

  summarize(): StripeSummary {
    return summarizeStore(this.store, this.prices);
  }

  /** The variables by which a service takes payments through it. */
  get environment(): Record<string, string> {
    const { lite, starter, pro, studio } = this.prices;
    return {
      STRIPE_SECRET_KEY: this.secretKey,
      STRIPE_WEBHOOK_SECRET: this.webhookSecret,
      STRIPE_API_BASE: this.url,
      STRIPE_PORTAL_CONFIGURATION: this.portalConfiguration,
      STRIPE_PRICE_LITE: lite,
      STRIPE_PRICE_STARTER: starter,
      STRIPE_PRICE_PRO: pro,
      STRIPE_PRICE_STUDIO: studio,
    };
  }

  /** The id of how the portal is set up. */
  get portalConfiguration(): string {
    return this.store.list('billing_portal.configuration')[0]?.id ?? '';
  }

  /** Pays on a checkout page. @param page its id or address, or a reference to the customer: their latest open page. */
  completeCheckout(page: string, options: CheckoutOptions = {}): Stripe.Checkout.Session {
    const session = findCheckoutSession(this.store, page);
    completeSession(this.store, session, options);
    return structuredClone(session);
  }

  /** Opens a page again that was closed. @param page its address. */
  reopenCheckout(page: string): void {
    const session = this.store.get('checkout.session', page.split('/').at(-1));
    Object.assign(session, { status: 'open', url: page });
  }

  /** What came of a checkout that was completed with `async`. */
  settlePayment(page: string, outcome: 'succeeded' | 'failed'): void {
    settleAsyncPayment(this.store, findCheckoutSession(this.store, page), outcome);
  }

  /** Confirms what a page of the portal was opened for. @param page its id or address. */
  confirmPlanSwitch(page: string): SwitchOutcome {
    return applyPlanSwitch(this.store, this.store.get('billing_portal.session', /bps_\w+/.exec(page)?.[0]));
  }

  /** @param as the portal writes it down as a flag, or with newer subscriptions as a date alone. */
  cancelAtPeriodEnd(reference: string, as: 'flag' | 'date' = 'flag'): void {
    cancelAtPeriodEnd(this.store, this.findSubscription(reference), as);
  }

  resume(reference: string): void {
    resumeSubscription(this.store, this.findSubscription(reference));
  }

  cancelNow(reference: string): void {
    endSubscription(this.store, this.findSubscription(reference), 'cancellation_requested');
  }

  /** Moves its clock; renewals, retries, ends and expiries happen on the way. */
  advanceTo(date: Date): void {
    advanceClock(this.store, date, this);
  }

  /** The same in the middle of requests: who repeats one of the last minute has not waited for longer than that. */
  jumpTo(date: Date): void {
    this.advanceTo(date);
    this.apiServer.keys.extendRecent(this.store.now());
  }

  /** Forgets the errors that it would repeat for a day. */
  deleteSavedErrors(): void {
    this.apiServer.keys.deleteErrors();
  }

  /** Moves its clock past the renewal, which the card declines. */
  failRenewal(reference: string): void {
    const subscription = this.findSubscription(reference);
    const before = this.failRenewals;
    this.failRenewals = true;
    try {
      this.advanceTo(new Date(1_000 * (getItem(subscription).current_period_end + DRAFT_SECONDS)));
    } finally {
      this.failRenewals = before;
    }
  }

  /** Pays the invoice that could not be collected. */
  payFailedInvoice(reference: string): void {
    const { latest_invoice } = this.findSubscription(reference);
    const invoice = this.store.get('invoice', getId(latest_invoice));
    retryCollection(this.store, invoice, this, 'ok');
  }

  /** Marks the invoice that could not be collected as paid outside of Stripe. */
  payOutOfBand(reference: string): void {
    const invoice = this.store.get('invoice', getId(this.findSubscription(reference).latest_invoice));
    payInvoiceOutOfBand(this.store, invoice, findOrCreateInvoiceIntent(this.store, invoice));
    this.findSubscription(reference).status = 'active';
  }

  /** Writes down that so much of an invoice was given back outside of Stripe. */
  creditOutOfBand(invoiceId: string, amountCents: number): Stripe.CreditNote {
    return creditOutOfBand(this.store, this.store.get('invoice', invoiceId), amountCents);
  }

  /** Lets the owner of a connected account take it away from us. */
  disconnect(accountId: string): void {
    this.store.disconnectedAccounts.add(accountId);
  }

  /** @param reference the payment, charge or invoice. @param amountCents all that is left, if it is not given. */
  refund(reference: string, amountCents?: number): Stripe.Refund {
    return createRefund(this.store, reference, amountCents);
  }

  failRefund(refundId: string): Stripe.Refund {
    return failRefund(this.store, refundId);
  }

  /** Turns an inquiry into a chargeback. */
  escalateDispute(disputeId: string): Stripe.Dispute {
    return escalateDispute(this.store, disputeId);
  }

  /** @param reference the payment, charge or invoice. */
  openDispute(reference: string, options?: DisputeOptions): Stripe.Dispute {
    return openDispute(this.store, reference, options);
  }

  /** @param reference the dispute, or what is disputed. */
  closeDispute(reference: string, outcome: 'won' | 'lost'): Stripe.Dispute {
    return closeDispute(this.store, reference, outcome);
  }

  /** What the owner of a connected account, or Stripe, does. @param link its id, or the address of its page. */
  onboard(link: string, state: Onboarding = 'enabled'): void {
    setOnboardingState(this.store, this.store.get('account', /acct_[0-9a-f]+/.exec(link)?.[0]), state);
  }

  /** Lets all cards of a customer behave so; one without a card is given one. */
  setCard(reference: string, card: CardBehavior): void {
    const customerId = this.findCustomerId(reference);
    const methods = listPaymentMethods(this.store, customerId);
    if (methods.length === 0) addPaymentMethod(this.store, customerId, card);
    for (const { id } of methods) this.store.cards.set(id, card);
  }

  /** Takes all cards of a customer away. */
  removePaymentMethod(reference: string): void {
    for (const method of listPaymentMethods(this.store, this.findCustomerId(reference)))
      detachPaymentMethod(this.store, method);
  }

  /** Deletes a customer. */
  deleteCustomer(customerId: string): void {
    this.store.remove(customerId);
    this.store.deletedCustomers.add(customerId);
  }

  /** The id of a customer. */
  findCustomerId(reference: string): string {
    return findCustomerId(this.store, reference);
  }

  /** A subscription, or the newest one of a customer. */
  findSubscription(reference: string): Stripe.Subscription {
    return findSubscription(this.store, reference);
  }

  private deliver(type: HandledEvent, object: { id: string }, previous?: object): void {
    const told = createStripeEvent(this.store, type, object, previous);
    this.events.push(told);
    this.delivery.send(told);
  }
}
