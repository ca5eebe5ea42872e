import type Stripe from 'stripe';
import { type StripeStore, fromFields } from './store.ts';
import { addPortalConfiguration, addPrice, addProduct } from './catalog.ts';
import type { StripeParams } from './params.ts';
import { LIST_PARAMS, listObjects, retrieveObject } from './listing.ts';
import type { StripeHandler } from './handler.ts';
import { parseBooleans } from './parseBooleans.ts';

type Routes = Record<
  `${'products' | 'prices' | 'webhookEndpoints' | 'portalConfigurations'}.${string}`,
  [string, string, StripeHandler]
>;

/** Routes of objects that an operator sets up once. */
export const setupRoutes = {
  'products.create': [
    'POST',
    '/v1/products',
    (store, params) => {
      params.allowOnly<Stripe.ProductCreateParams>('id', 'name', 'description', 'metadata', 'expand');
      const id = params.text('id');
      if (store.find('product', id) !== undefined)
        params.reject('id', 'Product already exists.', 'resource_already_exists');
      return addProduct(store, params.required('name'), id, params.metadata());
    },
  ],
  'products.retrieve': ['GET', '/v1/products/:id', retrieveObject('product')],
  'products.list': [
    'GET',
    '/v1/products',
    (store, params) =>
      listObjects(
        store,
        'product',
        params.allowOnly<Stripe.ProductListParams>(...LIST_PARAMS, 'created', 'active', 'ids'),
        '/v1/products',
      ),
  ],
  'prices.create': ['POST', '/v1/prices', createPrice],
  'prices.retrieve': ['GET', '/v1/prices/:id', retrieveObject('price')],
  'prices.list': [
    'GET',
    '/v1/prices',
    (store, params) => {
      params.allowOnly<Stripe.PriceListParams>(
        ...LIST_PARAMS,
        'created',
        'active',
        'lookup_keys',
        'product',
        'type',
        'currency',
        'recurring',
      );
      const keys = params.texts('lookup_keys');
      const active = params.flag('active');
      return listObjects(
        store,
        'price',
        params,
        '/v1/prices',
        (price) =>
          (active === undefined || price.active === active) &&
          (!params.has('product') || price.product === params.text('product')) &&
          (keys.length === 0 || keys.includes(price.lookup_key ?? '')),
      );
    },
  ],
  'webhookEndpoints.create': ['POST', '/v1/webhook_endpoints', createWebhookEndpoint],
  'webhookEndpoints.list': [
    'GET',
    '/v1/webhook_endpoints',
    (store, params) =>
      listObjects(
        store,
        'webhook_endpoint',
        params.allowOnly<Stripe.WebhookEndpointListParams>(...LIST_PARAMS),
        '/v1/webhook_endpoints',
      ),
  ],
  'webhookEndpoints.update': [
    'POST',
    '/v1/webhook_endpoints/:id',
    (store, params, id) => {
      params.allowOnly<Stripe.WebhookEndpointUpdateParams>(
        'enabled_events',
        'disabled',
        'url',
        'description',
        'metadata',
        'expand',
      );
      const endpoint = store.get('webhook_endpoint', id);
      if (params.has('enabled_events')) endpoint.enabled_events = params.texts('enabled_events');
      if (params.has('disabled')) endpoint.status = params.flag('disabled') === true ? 'disabled' : 'enabled';
      return endpoint;
    },
  ],
  'portalConfigurations.create': [
    'POST',
    '/v1/billing_portal/configurations',
    (store, params) => {
      params.allowOnly<Stripe.BillingPortal.ConfigurationCreateParams>(
        'features',
        'business_profile',
        'default_return_url',
        'login_page',
        'metadata',
        'name',
        'expand',
      );
      if (!params.has('features')) params.required('features');
      validatePortalPrices(store, params.nested('features'));
      return addPortalConfiguration(store, {
        features: parseBooleans(params.nested('features').form) as object,
        metadata: params.metadata(),
        name: params.text('name'),
      });
    },
  ],
  'portalConfigurations.list': [
    'GET',
    '/v1/billing_portal/configurations',
    (store, params) => {
      params.allowOnly<Stripe.BillingPortal.ConfigurationListParams>(...LIST_PARAMS, 'active', 'is_default');
      const [active, isDefault] = [params.flag('active'), params.flag('is_default')];
      return listObjects(
        store,
        'billing_portal.configuration',
        params,
        '/v1/billing_portal/configurations',
        (known) =>
          (active === undefined || known.active === active) &&
          (isDefault === undefined || known.is_default === isDefault),
      );
    },
  ],
  'portalConfigurations.update': [
    'POST',
    '/v1/billing_portal/configurations/:id',
    (store, params, id) => {
      params.allowOnly<Stripe.BillingPortal.ConfigurationUpdateParams>(
        'active',
        'features',
        'business_profile',
        'default_return_url',
        'login_page',
        'metadata',
        'name',
        'expand',
      );
      const configuration = store.get('billing_portal.configuration', id);
      if (params.has('features')) {
        validatePortalPrices(store, params.nested('features'));
        Object.assign(configuration.features, parseBooleans(params.nested('features').form));
      }
      return configuration;
    },
  ],
} satisfies Routes;

function createPrice(store: StripeStore, params: StripeParams): Stripe.Price {
  params.allowOnly<Stripe.PriceCreateParams>(
    'currency',
    'unit_amount',
    'product',
    'recurring',
    'lookup_key',
    'transfer_lookup_key',
    'metadata',
    'nickname',
    'tax_behavior',
    'expand',
  );
  const lookupKey = params.text('lookup_key');
  const holder = store.list('price').find((price) => lookupKey !== undefined && price.lookup_key === lookupKey);
  if (holder !== undefined && params.flag('transfer_lookup_key') !== true) {
    params.reject('lookup_key', `A price (\`${holder.id}\`) already uses that lookup key.`);
  }
  const product = store.get('product', params.required('product'), 'product').id;
  const unitAmount = params.integer('unit_amount') ?? Number(params.required('unit_amount'));
  const interval = params.has('recurring') ? params.nested('recurring').required('interval') : null;
  if (holder !== undefined) holder.lookup_key = null;
  return addPrice(store, {
    product,
    unitAmount,
    currency: params.required('currency'),
    lookupKey,
    interval,
    metadata: params.metadata(),
  });
}

function createWebhookEndpoint(store: StripeStore, params: StripeParams): Stripe.WebhookEndpoint {
  params.allowOnly<Stripe.WebhookEndpointCreateParams>(
    'url',
    'enabled_events',
    'api_version',
    'description',
    'metadata',
    'connect',
    'expand',
  );
  const url = params.url('url');
  if (/^https?:\/\/(localhost|127\.)/.test(url)) {
    params.reject('url', 'Invalid URL: URL must be publicly accessible.', 'url_invalid');
  }
  const endpoint = fromFields<Stripe.WebhookEndpoint>({
    id: store.newId('we'),
    object: 'webhook_endpoint',
    api_version: params.text('api_version') ?? null,
    application: null,
    created: store.now(),
    description: params.text('description') ?? null,
    enabled_events: params.texts('enabled_events'),
    livemode: false,
    metadata: params.metadata(),
    status: 'enabled',
    url,
  });
  store.add<'webhook_endpoint'>(endpoint);
  // Returned only when it is created.
  return { ...endpoint, secret: store.webhookSecret };
}

/** Rejects a portal in which a product has several prices for one interval. */
function validatePortalPrices(store: StripeStore, features: StripeParams): void {
  const update = features.nested('subscription_update');
  for (const product of update.has('products') ? update.items('products') : []) {
    const prices = product
      .texts('prices')
      .map((id) => store.get('price', id, 'features[subscription_update][products]'));
    const intervals = new Set(prices.map((price) => price.recurring?.interval));
    if (intervals.size < prices.length)
      product.reject('prices', 'The prices of a product must have unique billing intervals.');
    if (prices.some((price) => price.product !== product.text('product')))
      product.reject('prices', 'A price is of another product.');
  }
}
