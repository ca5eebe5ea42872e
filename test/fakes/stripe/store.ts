import { randomBytes } from 'node:crypto';
import type Stripe from 'stripe';
import type { EVENT_TYPES } from '../../../shared/gateways/payments/stripeWebhook.ts';
import { StripeApiError } from './stripeApiError.ts';

export type HandledEvent = (typeof EVENT_TYPES)[number];
/** Events that Stripe lists, but sends only to webhooks that ask for all types. */
export type UnusedEvent =
  | 'charge.refund.updated'
  | 'invoice.created'
  | 'invoice.finalization_failed'
  | 'invoice.finalized'
  | 'invoice.marked_uncollectible'
  | 'invoice.updated'
  | 'invoice.voided'
  | 'refund.created';
export type StripeEventType = HandledEvent | UnusedEvent;

/** Stored objects by the value of Stripe's field `object`. */
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

/** Result of charging a card without the customer present; `processing` for a bank debit, which takes days. */
export type CardBehavior = 'ok' | 'declined' | 'authentication_required' | 'processing';

/** Discount of a promotion code: a part of the price, or an amount in cents. */
export type Coupon = { percentOff: number } | { amountOff: number };

/** An invoice that Stripe tries to collect later. */
export interface PendingCollection {
  /** Time of the next attempt, in seconds. */
  at: number;
  subscriptionId: string;
  /** Number of attempts so far. */
  attempts: number;
}

/** All state of the fake Stripe. Objects are stored in the form of its responses. */
export class StripeStore {
  /** Base URL of the fake API. */
  url = '';
  /** Secret that signs events. */
  readonly webhookSecret = 'whsec_standin';
  clockOffsetMs = 0;
  /** The time being processed while the clock moves, in seconds. */
  simulatedNow: number | null = null;
  /** Balance available for transfers; null for an unlimited one. */
  balanceCents: number | null = null;
  /** Tax that is added to payments with automatic tax. */
  taxPercent = 0;
  /** Coupons by promotion code. */
  readonly promotionCodes = new Map<string, Coupon>();
  /** True if invoices of pages are created only by `issueDelayedInvoices`. */
  delaysInvoices = false;
  /** Pages that wait for their invoice. */
  readonly delayedInvoices: (() => void)[] = [];
  /** Discount and tax of renewals. */
  renewals = { discountPercent: 0, taxPercent: 0 };
  /** True if the portal rejects a plan change while another one is scheduled. */
  rejectsSwitchWhileScheduled = false;
  /** Ids of subscriptions whose invoices cannot be finalized: their tax needs an address. */
  readonly taxAddressMissing = new Set<string>();
  /** True if a charge can be refunded after a dispute of it was won. Stripe does not document it. */
  refundsWonDisputes = false;
  /** Ids of deleted customers: they can still be retrieved, but not used. */
  readonly deletedCustomers = new Set<string>();
  /** Ids of invoices whose reads fail with 500. */
  readonly brokenInvoices = new Set<string>();
  /** True if the platform has signed up for Connect. */
  isConnectEnabled = true;
  /** Ids of connected accounts that their owners have disconnected. */
  readonly disconnectedAccounts = new Set<string>();
  readonly cards = new Map<string, CardBehavior>();
  /** Scheduled price from the renewal on, by subscription id. */
  readonly scheduledPrices = new Map<string, string>();
  /** The price that is paid, by the id of a subscription whose change to another one is not paid. */
  readonly paidPrices = new Map<string, string>();
  /** Pending collection attempts by invoice id. */
  readonly collections = new Map<string, PendingCollection>();
  /** Parameters of a checkout page that its object does not show. */
  readonly checkoutParams = new Map<
    string,
    {
      price: string | null;
      metadata: Record<string, string>;
      saves: boolean;
      hasTax: boolean;
      savesAddress: boolean;
      /** Metadata of the invoice of a single payment; null if none is created. */
      invoiceMetadata: Record<string, string> | null;
    }
  >();
  onEvent: (type: StripeEventType, object: unknown, previous?: object) => void = () => {};
  private readonly objects = new Map<string, { id: string; object: string }>();

  /** Current time on the fake's clock, in seconds. */
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

  /** Returns the object with this id, of any kind. */
  findAny(id: string): object | undefined {
    return this.objects.get(id);
  }

  /** @param param the parameter with the id, if it is not in the path. @throws StripeApiError if there is none. */
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

  /** Returns all objects of a kind, newest first. */
  list<Name extends StripeKind>(kind: Name): StripeObjects[Name][] {
    return [...this.objects.values()].filter(({ object }) => object === kind).toReversed() as StripeObjects[Name][];
  }

  /** Emits an event. @param previous the previous values of the attributes that changed. */
  emit(type: StripeEventType, object: unknown, previous?: object): void {
    this.onEvent(type, object, previous);
  }
}

/** An object with only the fields that the service uses. */
export function fromFields<Made>(fields: Partial<Made>): Made {
  return fields as Made;
}

export function getId(value: string | { id: string } | null | undefined): string {
  return typeof value === 'string' ? value : (value?.id ?? '');
}

export function toApiList<Item>(data: Item[], url: string, hasMore = false): Stripe.ApiList<Item> {
  return { object: 'list', data, has_more: hasMore, url };
}
