import type Stripe from 'stripe';
import { type Books, made } from './books.ts';
import { addPortalConfiguration, addPrice, addProduct } from './catalogue.ts';
import type { Params } from './form.ts';
import { PAGE_PARAMS, page, retrieve } from './pages.ts';
import type { Handler } from './routes.ts';
import { typed } from './typed.ts';

type Routes = Record<
  `${'products' | 'prices' | 'webhookEndpoints' | 'portalConfigurations'}.${string}`,
  [string, string, Handler]
>;

/** What an operator sets up once. */
export const setupRoutes = {
  'products.create': [
    'POST',
    '/v1/products',
    (books, params) => {
      params.only('id', 'name', 'description', 'metadata', 'expand');
      const id = params.text('id');
      if (books.find('product', id) !== undefined)
        params.refuse('id', 'Product already exists.', 'resource_already_exists');
      return addProduct(books, params.required('name'), id, params.metadata());
    },
  ],
  'products.retrieve': ['GET', '/v1/products/:id', retrieve('product')],
  'products.list': [
    'GET',
    '/v1/products',
    (books, params) => page(books, 'product', params.only(...PAGE_PARAMS, 'active', 'ids'), '/v1/products'),
  ],
  'prices.create': ['POST', '/v1/prices', createPrice],
  'prices.retrieve': ['GET', '/v1/prices/:id', retrieve('price')],
  'prices.list': [
    'GET',
    '/v1/prices',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'active', 'lookup_keys', 'product', 'type', 'currency', 'recurring');
      const keys = params.texts('lookup_keys');
      const active = params.flag('active');
      return page(
        books,
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
  'webhookEndpoints.create': ['POST', '/v1/webhook_endpoints', createEndpoint],
  'webhookEndpoints.list': [
    'GET',
    '/v1/webhook_endpoints',
    (books, params) => page(books, 'webhook_endpoint', params.only(...PAGE_PARAMS), '/v1/webhook_endpoints'),
  ],
  'webhookEndpoints.update': [
    'POST',
    '/v1/webhook_endpoints/:id',
    (books, params, id) => {
      params.only('enabled_events', 'disabled', 'url', 'description', 'metadata', 'expand');
      const endpoint = books.get('webhook_endpoint', id);
      if (params.has('enabled_events')) endpoint.enabled_events = params.texts('enabled_events');
      if (params.has('disabled')) endpoint.status = params.flag('disabled') === true ? 'disabled' : 'enabled';
      return endpoint;
    },
  ],
  'portalConfigurations.create': [
    'POST',
    '/v1/billing_portal/configurations',
    (books, params) => {
      params.only('features', 'business_profile', 'default_return_url', 'login_page', 'metadata', 'name', 'expand');
      if (!params.has('features')) params.required('features');
      checkPrices(books, params.at('features'));
      return addPortalConfiguration(books, {
        features: typed(params.at('features').form) as object,
        metadata: params.metadata(),
        name: params.text('name'),
      });
    },
  ],
  'portalConfigurations.list': [
    'GET',
    '/v1/billing_portal/configurations',
    (books, params) => {
      params.only(...PAGE_PARAMS, 'active', 'is_default');
      const [active, isDefault] = [params.flag('active'), params.flag('is_default')];
      return page(
        books,
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
    (books, params, id) => {
      params.only(
        'active',
        'features',
        'business_profile',
        'default_return_url',
        'login_page',
        'metadata',
        'name',
        'expand',
      );
      const configuration = books.get('billing_portal.configuration', id);
      if (params.has('features')) {
        checkPrices(books, params.at('features'));
        Object.assign(configuration.features, typed(params.at('features').form));
      }
      return configuration;
    },
  ],
} satisfies Routes;

const PRICE_FIELDS = `currency unit_amount product recurring lookup_key transfer_lookup_key metadata nickname
  tax_behavior expand`.split(/\s+/);

function createPrice(books: Books, params: Params): Stripe.Price {
  params.only(...PRICE_FIELDS);
  const lookupKey = params.text('lookup_key');
  const holder = books.list('price').find((price) => lookupKey !== undefined && price.lookup_key === lookupKey);
  if (holder !== undefined && params.flag('transfer_lookup_key') !== true) {
    params.refuse('lookup_key', `A price (\`${holder.id}\`) already uses that lookup key.`);
  }
  const product = books.get('product', params.required('product'), 'product').id;
  const unitAmount = params.integer('unit_amount') ?? Number(params.required('unit_amount'));
  const interval = params.has('recurring') ? params.at('recurring').required('interval') : null;
  if (holder !== undefined) holder.lookup_key = null;
  return addPrice(books, {
    product,
    unitAmount,
    currency: params.required('currency'),
    lookupKey,
    interval,
    metadata: params.metadata(),
  });
}

function createEndpoint(books: Books, params: Params): Stripe.WebhookEndpoint {
  params.only('url', 'enabled_events', 'api_version', 'description', 'metadata', 'connect', 'expand');
  const url = params.url('url');
  if (/^https?:\/\/(localhost|127\.)/.test(url)) {
    params.refuse('url', 'Invalid URL: URL must be publicly accessible.', 'url_invalid');
  }
  const endpoint = made<Stripe.WebhookEndpoint>({
    id: books.newId('we'),
    object: 'webhook_endpoint',
    api_version: params.text('api_version') ?? null,
    application: null,
    created: books.now(),
    description: params.text('description') ?? null,
    enabled_events: params.texts('enabled_events'),
    livemode: false,
    metadata: params.metadata(),
    status: 'enabled',
    url,
  });
  books.add<'webhook_endpoint'>(endpoint);
  // Told this once.
  return { ...endpoint, secret: books.webhookSecret };
}

/** A product may be in the portal with one price an interval. */
function checkPrices(books: Books, features: Params): void {
  const update = features.at('subscription_update');
  for (const product of update.has('products') ? update.items('products') : []) {
    const prices = product
      .texts('prices')
      .map((id) => books.get('price', id, 'features[subscription_update][products]'));
    const intervals = new Set(prices.map((price) => price.recurring?.interval));
    if (intervals.size < prices.length)
      product.refuse('prices', 'The prices of a product must have unique billing intervals.');
    if (prices.some((price) => price.product !== product.text('product')))
      product.refuse('prices', 'A price is of another product.');
  }
}
