import type Stripe from 'stripe';
import type { Plan } from '../../../shared/spec/plans.ts';
import { type StripeStore, fromFields } from './store.ts';

export interface NewPrice {
  product: string;
  unitAmount: number;
  currency?: string;
  lookupKey?: string | null;
  interval?: string | null;
  metadata?: Record<string, string>;
}

export function addProduct(store: StripeStore, name: string, id = store.newId('prod'), metadata = {}): Stripe.Product {
  const created = store.now();
  return store.add<'product'>(
    fromFields<Stripe.Product>({
      id,
      object: 'product',
      active: true,
      created,
      default_price: null,
      description: null,
      images: [],
      livemode: false,
      metadata,
      name,
      type: 'service',
      updated: created,
      url: null,
    }),
  );
}

export function addPrice(store: StripeStore, fields: NewPrice): Stripe.Price {
  const { product, unitAmount, currency = 'usd', lookupKey = null, interval = 'year', metadata = {} } = fields;
  const price = fromFields<Omit<Stripe.Price, 'unit_amount_decimal'>>({
    id: store.newId('price'),
    object: 'price',
    active: true,
    billing_scheme: 'per_unit',
    created: store.now(),
    currency,
    livemode: false,
    lookup_key: lookupKey,
    metadata,
    nickname: null,
    product,
    recurring:
      interval === null
        ? null
        : fromFields<Stripe.Price.Recurring>({ interval, interval_count: 1, meter: null, usage_type: 'licensed' }),
    tax_behavior: 'unspecified',
    type: interval === null ? 'one_time' : 'recurring',
    unit_amount: unitAmount,
  });
  // The library parses the text into its own decimal type.
  return store.add<'price'>(Object.assign(price, { unit_amount_decimal: String(unitAmount) }) as never);
}

/** Price ids by plan. Tests of the default plans name these. */
export type PriceIds = Record<'lite' | 'starter' | 'pro' | 'studio' | (string & {}), string>;

/** Sets up plans, and a portal that offers those that are not hidden. @returns the price ids by plan. */
export function setUpPlans(store: StripeStore, plans: readonly Plan[]): PriceIds {
  const created = plans.map(({ slug, name, priceYearlyCents, hidden }) => ({
    slug,
    hidden,
    price: addPrice(store, {
      product: addProduct(store, name).id,
      unitAmount: priceYearlyCents,
      lookupKey: `genmeter_${slug}_yearly`,
    }),
  }));
  const offered = created.filter(({ hidden }) => !hidden).map(({ price }) => price);
  addPortalConfiguration(store, {
    isDefault: true,
    features: {
      invoice_history: { enabled: true },
      payment_method_update: { enabled: true, payment_method_configuration: null },
      subscription_cancel: fromFields({ enabled: true, mode: 'at_period_end', proration_behavior: 'none' }),
      subscription_update: fromFields({
        enabled: true,
        default_allowed_updates: ['price'],
        proration_behavior: 'always_invoice',
        products: offered.map(({ id, product }) => fromFields({ product: product as string, prices: [id] })),
        schedule_at_period_end: { conditions: [{ type: 'decreasing_item_amount' }] },
      }),
    },
  });
  return Object.fromEntries(created.map(({ slug, price }) => [slug, price.id])) as PriceIds;
}

export function addPortalConfiguration(
  store: StripeStore,
  fields: { features: object; isDefault?: boolean; metadata?: Record<string, string>; name?: string | null },
): Stripe.BillingPortal.Configuration {
  const created = store.now();
  return store.add<'billing_portal.configuration'>(
    fromFields<Stripe.BillingPortal.Configuration>({
      id: store.newId('bpc'),
      object: 'billing_portal.configuration',
      active: true,
      application: null,
      business_profile: { headline: null, privacy_policy_url: null, terms_of_service_url: null },
      created,
      default_return_url: null,
      features: fields.features as Stripe.BillingPortal.Configuration.Features,
      is_default: fields.isDefault ?? false,
      livemode: false,
      login_page: { enabled: false, url: null },
      metadata: fields.metadata ?? {},
      name: fields.name ?? null,
      updated: created,
    }),
  );
}
