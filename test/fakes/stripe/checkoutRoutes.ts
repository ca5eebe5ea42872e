import type Stripe from 'stripe';
import { expireSession } from './testClock.ts';
import { type StripeStore, getId, fromFields } from './store.ts';
import type { StripeParams } from './params.ts';
import { type ExpandParams, LIST_PARAMS, listObjects, retrieveObject } from './listing.ts';
import { createPortalSession } from './portalSessions.ts';
import { StripeApiError } from './stripeApiError.ts';
import type { StripeHandler } from './handler.ts';

type Routes = Record<`${'checkout' | 'portal'}.${string}`, [string, string, StripeHandler]>;

export const checkoutRoutes = {
  'checkout.create': ['POST', '/v1/checkout/sessions', createCheckoutSession],
  'checkout.retrieve': ['GET', '/v1/checkout/sessions/:id', retrieveObject('checkout.session')],
  'checkout.list': [
    'GET',
    '/v1/checkout/sessions',
    (store, params) => {
      params.allowOnly<Stripe.Checkout.SessionListParams>(
        ...LIST_PARAMS,
        'created',
        'customer',
        'status',
        'subscription',
        'payment_intent',
      );
      const status = params.choice('status', 'open', 'complete', 'expired');
      const wanted = ['customer', 'subscription', 'payment_intent'] as const;
      return listObjects(
        store,
        'checkout.session',
        params,
        '/v1/checkout/sessions',
        (session) =>
          (status === undefined || session.status === status) &&
          wanted.every((name) => !params.has(name) || getId(session[name]) === params.text(name)),
      );
    },
  ],
  'checkout.expire': [
    'POST',
    '/v1/checkout/sessions/:id/expire',
    (store, params, id) => {
      params.allowOnly<ExpandParams>('expand');
      const session = store.get('checkout.session', id);
      if (session.status !== 'open') {
        const message = `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of ${session.status}.`;
        throw new StripeApiError(400, { message });
      }
      expireSession(session);
      return session;
    },
  ],
  'portal.create': ['POST', '/v1/billing_portal/sessions', createPortalSession],
} satisfies Routes;

const DAY_SECONDS = 24 * 3_600;

const SESSION_FIELDS = [
  'mode',
  'customer',
  'client_reference_id',
  'line_items',
  'metadata',
  'subscription_data',
  'payment_intent_data',
  'success_url',
  'cancel_url',
  'expires_at',
  'expand',
  'adaptive_pricing',
  'allow_promotion_codes',
  'locale',
  'automatic_tax',
  'billing_address_collection',
  'customer_update',
  'saved_payment_method_options',
  'tax_id_collection',
  'invoice_creation',
] as const;

function createCheckoutSession(store: StripeStore, params: StripeParams): Stripe.Checkout.Session {
  params.allowOnly<Stripe.Checkout.SessionCreateParams>(...SESSION_FIELDS);
  const mode = params.choice('mode', 'payment', 'subscription') ?? params.reject('mode', 'You must specify a mode.');
  const data = mode === 'payment' ? 'payment_intent_data' : 'subscription_data';
  const other = mode === 'payment' ? 'subscription_data' : 'payment_intent_data';
  if (params.has(other)) params.reject(other, `You can not pass \`${other}\` in \`${mode}\` mode.`);
  params
    .nested('adaptive_pricing')
    .allowOnly<Stripe.Checkout.SessionCreateParams.AdaptivePricing>('enabled')
    .flag('enabled');
  const [line, ...more] = params.items('line_items');
  if (line === undefined || more.length > 0) return params.reject('line_items', 'The fake sells one item per page.');
  line.allowOnly<Stripe.Checkout.SessionCreateParams.LineItem>('price', 'price_data', 'quantity');
  const price = line.has('price') ? store.get('price', line.text('price'), 'line_items[0][price]') : null;
  if ((price?.recurring != null) !== (mode === 'subscription'))
    params.reject('line_items', `The price does not fit the mode ${mode}.`);
  const amount = (line.integer('quantity') ?? 1) * (price?.unit_amount ?? readAmount(line));
  const customer = store.get('customer', params.required('customer'), 'customer').id;
  const id = store.newId('cs_test');
  const created = store.now();
  const options = readPageOptions(store, params, mode, customer);
  const nested = params.nested(data);
  if (mode === 'payment')
    nested.allowOnly<Stripe.Checkout.SessionCreateParams.PaymentIntentData>(
      'metadata',
      'setup_future_usage',
      'description',
      'receipt_email',
    );
  else
    nested.allowOnly<Stripe.Checkout.SessionCreateParams.SubscriptionData>('metadata', 'description', 'billing_mode');
  store.checkoutParams.set(id, {
    price: price?.id ?? null,
    metadata: nested.metadata(),
    saves: nested.has('setup_future_usage'),
    ...options,
  });
  return store.add<'checkout.session'>(
    fromFields<Stripe.Checkout.Session>({
      id,
      object: 'checkout.session',
      allow_promotion_codes: params.flag('allow_promotion_codes') ?? null,
      amount_subtotal: amount,
      amount_total: amount,
      cancel_url: params.url('cancel_url'),
      client_reference_id: params.text('client_reference_id') ?? null,
      created,
      currency: price?.currency ?? line.nested('price_data').text('currency') ?? 'usd',
      customer,
      customer_details: null,
      customer_email: null,
      expires_at: params.integer('expires_at') ?? created + DAY_SECONDS,
      invoice: null,
      livemode: false,
      locale: null,
      metadata: params.metadata(),
      mode,
      payment_intent: null,
      payment_method_types: ['card'],
      payment_status: 'unpaid',
      setup_intent: null,
      status: 'open',
      subscription: null,
      success_url: params.url('success_url'),
      total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
      ui_mode: 'hosted_page',
      url: `${store.url}/pay/${id}`,
    }),
  );
}

/** Reads the options for tax and invoices, with Stripe's rules for existing customers. */
function readPageOptions(store: StripeStore, params: StripeParams, mode: string, customerId: string) {
  const hasTax =
    params
      .nested('automatic_tax')
      .allowOnly<Stripe.Checkout.SessionCreateParams.AutomaticTax>('enabled')
      .flag('enabled') === true;
  const update = params
    .nested('customer_update')
    .allowOnly<Stripe.Checkout.SessionCreateParams.CustomerUpdate>('address', 'name', 'shipping');
  const savesAddress = update.choice('address', 'auto', 'never') === 'auto';
  if (hasTax && !savesAddress && store.get('customer', customerId).address === null) {
    const message =
      'Automatic tax calculation in Checkout requires a valid address on the Customer. Add a valid address to the Customer or set either `customer_update[address]` to `auto` or `customer_update[shipping]` to `auto`.';
    params.reject('customer', message, 'customer_tax_location_invalid');
  }
  const collectsTaxId =
    params
      .nested('tax_id_collection')
      .allowOnly<Stripe.Checkout.SessionCreateParams.TaxIdCollection>('enabled')
      .flag('enabled') === true;
  if (collectsTaxId && update.choice('name', 'auto', 'never') !== 'auto')
    params.reject('tax_id_collection', 'Tax ID collection requires `customer_update[name]` to be set to `auto`.');
  params.choice('billing_address_collection', 'auto', 'required');
  const invoice = params
    .nested('invoice_creation')
    .allowOnly<Stripe.Checkout.SessionCreateParams.InvoiceCreation>('enabled', 'invoice_data');
  if (params.has('invoice_creation') && mode !== 'payment')
    params.reject('invoice_creation', 'You can only enable invoice creation when `mode` is set to `payment`.');
  const isInvoiced = invoice.flag('enabled') === true;
  const invoiceMetadata = isInvoiced ? invoice.nested('invoice_data').metadata() : null;
  return { hasTax, savesAddress, invoiceMetadata };
}

/** Parameters of an inline price, which exists only on its page. */
function readAmount(line: StripeParams): number {
  const price = line
    .nested('price_data')
    .allowOnly<Stripe.Checkout.SessionCreateParams.LineItem.PriceData>(
      'currency',
      'unit_amount',
      'product_data',
      'product',
      'tax_behavior',
    );
  price.required('currency');
  if (!price.has('product')) price.nested('product_data').required('name');
  const amount = price.integer('unit_amount') ?? Number(price.required('unit_amount'));
  if (amount < 50) price.reject('unit_amount', 'The amount must be at least $0.50 usd.', 'amount_too_small');
  return amount;
}
