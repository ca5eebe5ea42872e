import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Stripe from 'stripe';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import { Answering } from './answering.ts';
import { type AfterRetries, advanceTo, collectAgain, DRAFT_SECONDS } from './billingClock.ts';
import { Books, type Card, idIn } from './books.ts';
import { setUpPlans } from './catalogue.ts';
import { type Onboarding, onboard } from './connect.ts';
import { type CheckoutOptions, complete, settlePayment } from './checkout.ts';
import { addPaymentMethod, detach, paymentMethodsOf } from './customers.ts';
import { Deliveries } from './deliveries.ts';
import { eventOf, type HandledEvent, type StandInEvent } from './events.ts';
import { intentOf } from './invoices.ts';
import { creditElsewhere, settleElsewhere } from './outOfBand.ts';
import { confirmSwitch, type SwitchOutcome } from './planSwitch.ts';
import { customerOf, sessionOf, subscriptionOf } from './references.ts';
import { closeDispute, type DisputeOptions, escalateDispute, failRefund, openDispute, refund } from './reversals.ts';
import { cancelAtPeriodEnd, end, itemOf, resume } from './subscriptions.ts';
import { type Summary, summaryOf } from './summary.ts';

export interface StandInOptions {
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
export class StripeStandIn {
  readonly secretKey = 'sk_test_standin';
  readonly webhookSecret: string;
  /** The ids of the plans' prices. */
  prices: Record<PlanSlug, string>;
  url = '';
  /** All that was told of, delivered or not. */
  readonly events: StandInEvent[] = [];
  readonly delivery: Deliveries;
  /** Lets every renewal be declined, whatever the card. */
  failRenewals = false;
  /** What becomes of a subscription when all attempts on its renewal have failed. */
  afterRetries: AfterRetries = 'canceled';
  /** Its objects, for tests that look closer than `books()`. */
  readonly objects = new Books();
  private readonly answering = new Answering(this.objects, this.secretKey);
  private readonly server = createServer((request, response) => {
    void this.answering.answer(request, response);
  });

  constructor({ isEmpty = false, seed = 1 }: StandInOptions = {}) {
    this.webhookSecret = this.objects.webhookSecret;
    this.delivery = new Deliveries(this.webhookSecret, seed);
    this.prices = isEmpty ? ({} as Record<PlanSlug, string>) : setUpPlans(this.objects);
    this.objects.onEvent = (type, object, previous) => this.tell(type, object as { id: string }, previous);
  }

  async start(port = 0): Promise<this> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    this.objects.url = this.url;
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
    return this.answering.faults;
  }

  /** What was asked so far. */
  get requests() {
    return this.answering.requests;
  }

  /** How long each request takes. */
  set latencyMs(latencyMs: number) {
    this.answering.latencyMs = latencyMs;
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
    return this.objects.clockOffsetMs;
  }

  set clockOffsetMs(offsetMs: number) {
    this.objects.clockOffsetMs = offsetMs;
  }

  /** Lets the portal turn down a switch while another one is scheduled for the renewal; it takes it otherwise. */
  set refusesSwitchWhileScheduled(refuses: boolean) {
    this.objects.refusesSwitchWhileScheduled = refuses;
  }

  now(): Date {
    return new Date(Date.now() + this.clockOffsetMs);
  }

  /** Makes it behave again: no faults, no delays, nothing dropped any more. */
  behave(): void {
    for (const name of Object.keys(this.faults)) delete this.faults[name as keyof typeof this.faults];
    this.latencyMs = 0;
    this.failRenewals = false;
    this.refusesSwitchWhileScheduled = false;
    this.delivery.reset();
  }

  /** Resolves when all events were taken by the webhook. @throws Error if it would not take one. */
  settled(): Promise<void> {
    return this.delivery.settled();
  }

  books(): Summary {
    return summaryOf(this.objects, this.prices);
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
    return this.objects.list('billing_portal.configuration')[0]?.id ?? '';
  }

  /** Pays on a checkout page. @param page its id or address, or a reference to the customer: their latest open page. */
  completeCheckout(page: string, options: CheckoutOptions = {}): Stripe.Checkout.Session {
    const session = sessionOf(this.objects, page);
    complete(this.objects, session, options);
    return structuredClone(session);
  }

  /** Opens a page again that was closed. @param page its address. */
  reopen(page: string): void {
    const session = this.objects.get('checkout.session', page.split('/').at(-1));
    Object.assign(session, { status: 'open', url: page });
  }

  /** What came of a checkout that was completed with `async`. */
  settlePayment(page: string, outcome: 'succeeded' | 'failed'): void {
    settlePayment(this.objects, sessionOf(this.objects, page), outcome);
  }

  /** Confirms what a page of the portal was opened for. @param page its id or address. */
  confirmPlanSwitch(page: string): SwitchOutcome {
    return confirmSwitch(this.objects, this.objects.get('billing_portal.session', /bps_\w+/.exec(page)?.[0]));
  }

  /** @param as the portal writes it down as a flag, or with newer subscriptions as a date alone. */
  cancelAtPeriodEnd(reference: string, as: 'flag' | 'date' = 'flag'): void {
    cancelAtPeriodEnd(this.objects, this.subscriptionOf(reference), as);
  }

  resume(reference: string): void {
    resume(this.objects, this.subscriptionOf(reference));
  }

  cancelNow(reference: string): void {
    end(this.objects, this.subscriptionOf(reference), 'cancellation_requested');
  }

  /** Moves its clock; renewals, retries, ends and expiries happen on the way. */
  advanceTo(date: Date): void {
    advanceTo(this.objects, date, this);
  }

  /** The same in the middle of requests: who repeats one of the last minute has not waited for longer than that. */
  jumpTo(date: Date): void {
    this.advanceTo(date);
    this.answering.keys.carryOver(this.objects.now());
  }

  /** Forgets the errors that it would repeat for a day. */
  forgetErrors(): void {
    this.answering.keys.forgetErrors();
  }

  /** Moves its clock past the renewal, which the card declines. */
  failRenewal(reference: string): void {
    const subscription = this.subscriptionOf(reference);
    const before = this.failRenewals;
    this.failRenewals = true;
    try {
      this.advanceTo(new Date(1_000 * (itemOf(subscription).current_period_end + DRAFT_SECONDS)));
    } finally {
      this.failRenewals = before;
    }
  }

  /** Pays the invoice that could not be collected. */
  recover(reference: string): void {
    const { latest_invoice } = this.subscriptionOf(reference);
    const invoice = this.objects.get('invoice', idIn(latest_invoice));
    collectAgain(this.objects, invoice, this, 'ok');
  }

  /** Marks the invoice that could not be collected as paid outside of Stripe. */
  payElsewhere(reference: string): void {
    const invoice = this.objects.get('invoice', idIn(this.subscriptionOf(reference).latest_invoice));
    settleElsewhere(this.objects, invoice, intentOf(this.objects, invoice));
    this.subscriptionOf(reference).status = 'active';
  }

  /** Writes down that so much of an invoice was given back outside of Stripe. */
  creditElsewhere(invoiceId: string, amountCents: number): Stripe.CreditNote {
    return creditElsewhere(this.objects, this.objects.get('invoice', invoiceId), amountCents);
  }

  /** Lets the owner of a connected account take it away from us. */
  disconnect(accountId: string): void {
    this.objects.disconnected.add(accountId);
  }

  /** @param reference the payment, charge or invoice. @param amountCents all that is left, if it is not given. */
  refund(reference: string, amountCents?: number): Stripe.Refund {
    return refund(this.objects, reference, amountCents);
  }

  failRefund(refundId: string): Stripe.Refund {
    return failRefund(this.objects, refundId);
  }

  /** Turns an inquiry into a chargeback. */
  escalateDispute(disputeId: string): Stripe.Dispute {
    return escalateDispute(this.objects, disputeId);
  }

  /** @param reference the payment, charge or invoice. */
  openDispute(reference: string, options?: DisputeOptions): Stripe.Dispute {
    return openDispute(this.objects, reference, options);
  }

  /** @param reference the dispute, or what is disputed. */
  closeDispute(reference: string, outcome: 'won' | 'lost'): Stripe.Dispute {
    return closeDispute(this.objects, reference, outcome);
  }

  /** What the owner of a connected account, or Stripe, does. @param link its id, or the address of its page. */
  onboard(link: string, state: Onboarding = 'enabled'): void {
    onboard(this.objects, this.objects.get('account', /acct_[0-9a-f]+/.exec(link)?.[0]), state);
  }

  /** Lets all cards of a customer behave so; one without a card is given one. */
  setCard(reference: string, card: Card): void {
    const customerId = this.customerOf(reference);
    const methods = paymentMethodsOf(this.objects, customerId);
    if (methods.length === 0) addPaymentMethod(this.objects, customerId, card);
    for (const { id } of methods) this.objects.cards.set(id, card);
  }

  /** Takes all cards of a customer away. */
  removePaymentMethod(reference: string): void {
    for (const method of paymentMethodsOf(this.objects, this.customerOf(reference))) detach(this.objects, method);
  }

  /** Deletes a customer. */
  forget(customerId: string): void {
    this.objects.remove(customerId);
    this.objects.deletedCustomers.add(customerId);
  }

  /** The id of a customer. */
  customerOf(reference: string): string {
    return customerOf(this.objects, reference);
  }

  /** A subscription, or the newest one of a customer. */
  subscriptionOf(reference: string): Stripe.Subscription {
    return subscriptionOf(this.objects, reference);
  }

  private tell(type: HandledEvent, object: { id: string }, previous?: object): void {
    const told = eventOf(this.objects, type, object, previous);
    this.events.push(told);
    this.delivery.send(told);
  }
}
