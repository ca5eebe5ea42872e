import type { IncomingMessage, ServerResponse } from 'node:http';
import { EVENT_TYPES } from '../../../shared/gateways/payments/stripeWebhook.ts';
import { DEFAULT_PLANS, getPriceVariable, type Plan } from '../../../shared/spec/plans.ts';
import { HttpFake } from '../httpFake.ts';
import { StripeApiServer } from './apiServer.ts';
import { type PriceIds, setUpPlans } from './catalog.ts';
import { createStripeEvent, type FakeStripeEvent } from './events.ts';
import { StripeStore } from './store.ts';
import type { AfterFailedRetries } from './testClock.ts';
import { WebhookDelivery } from './webhookDelivery.ts';

export interface FakeStripeOptions {
  /** True for an account without prices and portal. */
  isEmpty?: boolean;
  /** Plans of the account. Default: those of the specification. */
  plans?: readonly Plan[];
  /** Seed of the random faults of `delivery`. */
  seed?: number;
}

/**
 * The HTTP side of the fake Stripe: its API with idempotency keys, a store of objects, a clock that tests move, signed
 * events, and faults of its API and deliveries on demand.
 */
export class FakeStripeServer extends HttpFake {
  readonly secretKey = 'sk_test_standin';
  readonly webhookSecret: string;
  /** Price ids by plan. */
  prices: PriceIds;
  /** All events that the webhook asks for, delivered or not. */
  readonly events: FakeStripeEvent[] = [];
  readonly delivery: WebhookDelivery;
  /** Event types that the webhook asks for; all of them if empty. */
  webhookEvents: readonly string[] = EVENT_TYPES;
  /** Declines every renewal, whatever the card. */
  failRenewals = false;
  /** Status of a subscription after all attempts to collect its renewal have failed. */
  afterRetries: AfterFailedRetries = 'canceled';
  /** All objects, for tests that need more than `summarize()`. */
  readonly store = new StripeStore();
  protected readonly apiServer = new StripeApiServer(this.store, this.secretKey);

  constructor({ isEmpty = false, seed = 1, plans = DEFAULT_PLANS }: FakeStripeOptions = {}) {
    super();
    this.webhookSecret = this.store.webhookSecret;
    this.delivery = new WebhookDelivery(this.webhookSecret, seed);
    this.prices = isEmpty ? ({} as PriceIds) : setUpPlans(this.store, plans);
    this.store.onEvent = (type, object, previous) => this.emit(type, object as { id: string }, previous);
  }

  override async start(): Promise<this> {
    await super.start();
    this.store.url = this.url;
    return this;
  }

  /** Stops accepting connections and delivering events. */
  override async stop(): Promise<void> {
    this.delivery.stop();
    await super.stop();
  }

  protected handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    return this.apiServer.handle(request, response);
  }

  /** Faults by the name of a request, such as `intents.create`, or `all`. */
  get faults() {
    return this.apiServer.faults;
  }

  /** The requests received so far. */
  get requests() {
    return this.apiServer.requests;
  }

  /** Sets the duration of each request. */
  set latencyMs(latencyMs: number) {
    this.apiServer.latencyMs = latencyMs;
  }

  /** The URL that events are posted to. Without one, events are not delivered. */
  get webhookUrl(): string | undefined {
    return this.delivery.webhookUrl;
  }

  set webhookUrl(url: string | undefined) {
    this.delivery.webhookUrl = url;
  }

  /** The difference of its clock to real time. Use `advanceTo` to process what becomes due. */
  get clockOffsetMs(): number {
    return this.store.clockOffsetMs;
  }

  set clockOffsetMs(offsetMs: number) {
    this.store.clockOffsetMs = offsetMs;
  }

  /** Makes the portal reject a plan change while another one is scheduled for the renewal. */
  set rejectsSwitchWhileScheduled(rejects: boolean) {
    this.store.rejectsSwitchWhileScheduled = rejects;
  }

  now(): Date {
    return new Date(Date.now() + this.clockOffsetMs);
  }

  /** Removes all faults, delays and delivery problems. */
  reset(): void {
    for (const name of Object.keys(this.faults)) delete this.faults[name as keyof typeof this.faults];
    this.latencyMs = 0;
    this.failRenewals = false;
    this.store.delaysInvoices = false;
    this.store.taxPercent = 0;
    this.rejectsSwitchWhileScheduled = false;
    this.webhookEvents = EVENT_TYPES;
    this.store.refundsWonDisputes = false;
    this.delivery.reset();
  }

  /** Resolves when the webhook has accepted all events. @throws Error if it rejected one. */
  drained(): Promise<void> {
    return this.delivery.drained();
  }

  /** Environment variables of a service that uses this fake. */
  get environment(): Record<string, string> {
    const prices = Object.entries(this.prices).map(([slug, price]) => [getPriceVariable(slug), price]);
    return {
      STRIPE_SECRET_KEY: this.secretKey,
      STRIPE_WEBHOOK_SECRET: this.webhookSecret,
      STRIPE_API_BASE: this.url,
      STRIPE_PORTAL_CONFIGURATION: this.portalConfiguration,
      ...Object.fromEntries(prices),
    };
  }

  /** The id of the portal configuration. */
  get portalConfiguration(): string {
    return this.store.list('billing_portal.configuration')[0]?.id ?? '';
  }

  /** Records an event, and sends it. */
  protected send(
    type: string,
    object: { id: string },
    options: { previous?: object; apiVersion?: string } = {},
  ): FakeStripeEvent {
    const event = createStripeEvent(this.store, type, object, options);
    this.events.push(event);
    this.delivery.send(event);
    return event;
  }

  /** Sends an event if the webhook asks for its type; the others are only listed. */
  private emit(type: string, object: { id: string }, previous?: object): void {
    if (this.webhookEvents.length === 0 || this.webhookEvents.includes(type)) this.send(type, object, { previous });
    else createStripeEvent(this.store, type, object, { previous });
  }
}
