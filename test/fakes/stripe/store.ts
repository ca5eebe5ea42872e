import { randomBytes } from 'node:crypto';
import type Stripe from 'stripe';
import type { HandledEvent } from './events.ts';
import { StripeApiError } from './stripeApiError.ts';

/** What the stand-in keeps, by what Stripe writes into `object`. */
export interface StripeObjects {
  customer: Stripe.Customer;
  payment_method: Stripe.PaymentMethod;
  product: Stripe.Product;
  price: Stripe.Price;
  'checkout.session': Stripe.Checkout.Session;
  'billing_portal.session': Stripe.BillingPortal.Session;
  'billing_portal.configuration': Stripe.BillingPortal.Configuration;
  subscription: Stripe.Subscription;
  invoice: Stripe.Invoice;
  invoice_payment: Stripe.InvoicePayment;
  payment_intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  refund: Stripe.Refund;
  credit_note: Stripe.CreditNote;
  dispute: Stripe.Dispute;
  webhook_endpoint: Stripe.WebhookEndpoint;
  event: Stripe.Event;
  account: Stripe.Account;
  transfer: Stripe.Transfer;
}
export type StripeKind = keyof StripeObjects;

/** What a card's bank does with a charge that is made without the customer. */
export type CardBehavior = 'ok' | 'declined' | 'authentication_required';

/** An invoice that Stripe tries to collect later. */
export interface PendingCollection {
  /** In seconds. */
  at: number;
  subscriptionId: string;
  /** How often it was tried. */
  attempts: number;
}

/** All that the stand-in believes in. Objects are kept whole, as they are answered. */
export class StripeStore {
  /** Where the stand-in answers. */
  url = '';
  /** What events are signed with. */
  readonly webhookSecret = 'whsec_standin';
  clockOffsetMs = 0;
  /** While the clock is moved: the moment that is dealt with, in seconds. */
  simulatedNow: number | null = null;
  /** What of our money there is to transfer; as much as one likes where that is null. */
  balanceCents: number | null = null;
  /** Of what renewals ask for: taken off, and then held to be tax. */
  renewals = { discountPercent: 0, taxPercent: 0 };
  /** Lets the portal turn down a switch while another one is scheduled. */
  rejectsSwitchWhileScheduled = false;
  /** Ids of deleted customers: they can still be retrieved, but not used. */
  readonly deletedCustomers = new Set<string>();
  /** Invoices that it cannot read any more. */
  readonly brokenInvoices = new Set<string>();
  /** Whether the platform has signed up for Connect. */
  isConnectEnabled = true;
  /** Connected accounts whose owners have taken them away from us. */
  readonly disconnectedAccounts = new Set<string>();
  readonly cards = new Map<string, CardBehavior>();
  /** The price from the renewal on, by subscription. */
  readonly scheduledPrices = new Map<string, string>();
  /** By invoice. */
  readonly collections = new Map<string, PendingCollection>();
  /** What a checkout page was opened with and is not told afterwards. */
  readonly checkoutParams = new Map<
    string,
    { price: string | null; metadata: Record<string, string>; saves: boolean }
  >();
  onEvent: (type: HandledEvent, object: unknown, previous?: object) => void = () => {};
  private readonly objects = new Map<string, { id: string; object: string }>();

  /** In seconds, of the stand-in's own clock. */
  now(): number {
    return this.simulatedNow ?? Math.floor((Date.now() + this.clockOffsetMs) / 1_000);
  }

  newId(prefix: string): string {
    return `${prefix}_${randomBytes(12).toString('hex')}`;
  }

  add<Name extends StripeKind>(object: StripeObjects[Name]): StripeObjects[Name] {
    this.objects.set(object.id, object);
    return object;
  }

  find<Name extends StripeKind>(kind: Name, id: string | null | undefined): StripeObjects[Name] | undefined {
    const object = this.objects.get(id ?? '');
    return object?.object === kind ? (object as StripeObjects[Name]) : undefined;
  }

  remove(id: string): void {
    this.objects.delete(id);
  }

  /** Whatever has this id. */
  findAny(id: string): object | undefined {
    return this.objects.get(id);
  }

  /** @throws Refusal in Stripe's words; `param` names where the id stood, if not in the path. */
  get<Name extends StripeKind>(kind: Name, id: string | null | undefined, param?: string): StripeObjects[Name] {
    const found = this.find(kind, id);
    if (found !== undefined) return found;
    const message = `No such ${kind.replace(/[._]/g, ' ')}: '${id}'`;
    throw new StripeApiError(param === undefined ? 404 : 400, {
      code: 'resource_missing',
      param: param ?? 'id',
      message,
    });
  }

  /** The newest first. */
  list<Name extends StripeKind>(kind: Name): StripeObjects[Name][] {
    return [...this.objects.values()].filter(({ object }) => object === kind).toReversed() as StripeObjects[Name][];
  }

  /** @param previous the attributes that changed, as they were before. */
  emit(type: HandledEvent, object: unknown, previous?: object): void {
    this.onEvent(type, object, previous);
  }
}

/** An object of which only the fields that matter are given. */
export function fromFields<Made>(fields: Partial<Made>): Made {
  return fields as Made;
}

export function getId(value: string | { id: string } | null | undefined): string {
  return typeof value === 'string' ? value : (value?.id ?? '');
}

export function toApiList<Item>(data: Item[], url: string, hasMore = false): Stripe.ApiList<Item> {
  return { object: 'list', data, has_more: hasMore, url };
}
