import { parseCatalog } from '../shared/lib/catalog/catalog.ts';
import Stripe from 'stripe';
import { readCommandLine } from '../shared/lib/commandLine.ts';
import { EVENT_TYPES } from '../shared/gateways/payments/stripeWebhook.ts';
import { createStripeClient } from '../shared/gateways/payments/stripeClient.ts';
import { CURRENCY } from '../shared/gateways/payments/stripeMappers.ts';
import { findPriceProblem } from '../shared/gateways/payments/stripePrices.ts';
import { readJsonVariable } from '../shared/lib/config.ts';
import { getPriceVariable, type Plan } from '../shared/spec/plans.ts';
import { getErrorMessage } from './local/servers/errorDetails.ts';
import { loadEnvFile } from './local/stack/settings.ts';

const HELP = `npm run stripe:setup creates the objects that the service needs in a Stripe account: a product and a yearly price for
each plan, the webhooks, and a configuration of the customer portal. Existing objects are reused, so that it can be run
again at any time. It reports its progress on stderr, and prints the lines for your .env on stdout:

  STRIPE_SECRET_KEY=sk_test_... BASE_URL=https://example.com npm run --silent stripe:setup >> .env

  STRIPE_SECRET_KEY   secret key of the account and mode (test or live) to set up
  BASE_URL            public address of the service; on localhost no webhooks are created
  STRIPE_API_BASE     address of the API, instead of Stripe's own
  CATALOG             the plans of the service, if they are not the default ones; hidden ones are not in the portal

They are also read from a file .env in the current folder.`;

const WEBHOOK_PATH = '/api/billing/webhooks/processor/';
/** Metadata that identifies the objects that this command created. */
const OWN_METADATA = { made_by: 'genmeter' };
const CONNECT_METADATA = { of: 'connected accounts' };

/** The webhook of our own account, or that of the connected accounts that receive payouts. */
interface Webhook {
  /** The variable for its signing secret. */
  variable: 'STRIPE_WEBHOOK_SECRET' | 'STRIPE_CONNECT_WEBHOOK_SECRET';
  events: Stripe.WebhookEndpointCreateParams.EnabledEvent[];
  isConnect: boolean;
}
const WEBHOOKS: readonly Webhook[] = [
  { variable: 'STRIPE_WEBHOOK_SECRET', events: [...EVENT_TYPES], isConnect: false },
  { variable: 'STRIPE_CONNECT_WEBHOOK_SECRET', events: ['account.updated'], isConnect: true },
];

async function setUpStripe(stripe: Stripe, baseUrl: string, plans: readonly Plan[]): Promise<string[]> {
  const prices: { plan: Plan; price: Stripe.Price }[] = [];
  for (const plan of plans) prices.push({ plan, price: await ensurePrice(stripe, plan) });
  const secrets: string[] = [];
  for (const wanted of WEBHOOKS) {
    const secret = await ensureWebhook(stripe, baseUrl, wanted);
    if (secret !== null) secrets.push(`${wanted.variable}=${secret}`);
  }
  const offered = prices.filter(({ plan }) => !plan.hidden).map(({ price }) => price);
  const portal = await ensurePortalConfiguration(stripe, offered);
  return [
    ...secrets,
    ...prices.map(({ plan, price }) => `${getPriceVariable(plan.slug)}=${price.id}`),
    `STRIPE_PORTAL_CONFIGURATION=${portal}`,
  ];
}

/** Ensures the price of a plan. Prices are immutable: for another amount, a new price takes over the lookup key. */
async function ensurePrice(stripe: Stripe, plan: Plan): Promise<Stripe.Price> {
  const lookupKey = `genmeter_${plan.slug}_yearly`;
  const [known] = (await stripe.prices.list({ lookup_keys: [lookupKey], limit: 1 })).data;
  if (known !== undefined && findPriceProblem(known, plan) === null) {
    printLine('Price', `${known.id} of ${plan.name}, unchanged`);
    return known;
  }
  const price = await stripe.prices.create({
    product: await ensureProduct(stripe, plan),
    currency: CURRENCY,
    unit_amount: plan.priceYearlyCents,
    recurring: { interval: 'year' },
    lookup_key: lookupKey,
    transfer_lookup_key: true,
    metadata: OWN_METADATA,
  });
  printLine('Price', `${price.id} of ${plan.name}: ${plan.priceYearlyCents / 100} ${CURRENCY} a year`);
  if (known !== undefined) {
    printLine('', `it replaces ${known.id}: subscriptions to that price no longer belong to a plan`);
  }
  return price;
}

/** Ensures a product for each plan: the portal offers only one price per interval of a product. */
async function ensureProduct(stripe: Stripe, { slug, name, features }: Plan): Promise<string> {
  const id = `genmeter_${slug}`;
  try {
    const { active } = await stripe.products.retrieve(id);
    if (active) return id;
  } catch (error) {
    if ((error as Stripe.errors.StripeError).code !== 'resource_missing') throw error;
    const description = features.slice(0, 2).join(', ');
    await stripe.products.create({ id, name: `Genmeter ${name}`, description, metadata: OWN_METADATA });
    printLine('Product', id);
    return id;
  }
  throw new Error(`The product ${id} is archived in Stripe: unarchive it there and run this again.`);
}

/**
 * Creates a webhook, or updates the existing one. @returns its signing secret, which Stripe returns only at creation.
 */
async function ensureWebhook(stripe: Stripe, baseUrl: string, wanted: Webhook): Promise<string | null> {
  const { variable, events, isConnect } = wanted;
  const url = `${baseUrl}${WEBHOOK_PATH}`;
  if (isLocal(baseUrl)) {
    printLine(
      'Webhook',
      `not created: Stripe cannot reach ${baseUrl}. This command forwards the events and prints the`,
    );
    const forward = isConnect ? '--forward-connect-to' : '--forward-to';
    printLine('', `${variable}: stripe listen ${forward} ${url} --events ${events.join(',')}`);
    return null;
  }
  const known = await findWebhookEndpoint(stripe, url, isConnect);
  if (known === undefined) {
    const version = Stripe.API_VERSION as Stripe.WebhookEndpointCreateParams.ApiVersion;
    const made = await stripe.webhookEndpoints.create({
      url,
      enabled_events: events,
      api_version: version,
      metadata: isConnect ? { ...OWN_METADATA, ...CONNECT_METADATA } : OWN_METADATA,
      ...(isConnect ? { connect: true } : {}),
    });
    printLine('Webhook', `${made.id} at ${url}${isConnect ? ', for connected accounts' : ''}`);
    return made.secret ?? null;
  }
  const isComplete =
    known.status === 'enabled' && String(known.enabled_events.toSorted()) === String(events.toSorted());
  if (!isComplete) await stripe.webhookEndpoints.update(known.id, { enabled_events: events, disabled: false });
  printLine('Webhook', `${known.id} at ${url}, ${isComplete ? 'unchanged' : 'with updated events'}`);
  printLine('', `${variable} is unchanged; the signing secret is shown at https://dashboard.stripe.com/webhooks`);
  if (known.api_version !== Stripe.API_VERSION) {
    printLine(
      '',
      `it uses API version ${known.api_version} instead of ${Stripe.API_VERSION}: delete it there and run this again`,
    );
  }
  return null;
}

/** Stripe does not report which webhook of an address is for connected accounts: our metadata does. */
async function findWebhookEndpoint(
  stripe: Stripe,
  url: string,
  isConnect: boolean,
): Promise<Stripe.WebhookEndpoint | undefined> {
  for await (const endpoint of stripe.webhookEndpoints.list({ limit: 100 })) {
    const isConnectEndpoint = endpoint.metadata['of'] === CONNECT_METADATA.of;
    if (endpoint.url === url && isConnectEndpoint === isConnect) return endpoint;
  }
  return undefined;
}

function isLocal(baseUrl: string): boolean {
  return /^(localhost|.+\.localhost|127\..+|0\.0\.0\.0|\[::1?\])$/.test(new URL(baseUrl).hostname);
}

/** Ensures a configuration of our own, beside the account's default one, which the operator may use otherwise. */
async function ensurePortalConfiguration(stripe: Stripe, prices: Stripe.Price[]): Promise<string> {
  const products = prices.map(({ id, product }) => ({ product: getProductId(product), prices: [id] }));
  const features: Stripe.BillingPortal.ConfigurationCreateParams.Features = {
    invoice_history: { enabled: true },
    payment_method_update: { enabled: true },
    subscription_cancel: { enabled: true, mode: 'at_period_end', proration_behavior: 'none' },
    subscription_update: {
      enabled: true,
      default_allowed_updates: ['price'],
      products,
      proration_behavior: 'always_invoice',
      schedule_at_period_end: { conditions: [{ type: 'decreasing_item_amount' }] },
    },
  };
  for await (const { id, metadata } of stripe.billingPortal.configurations.list({ active: true, limit: 100 })) {
    if (metadata?.['made_by'] !== OWN_METADATA.made_by) continue;
    await stripe.billingPortal.configurations.update(id, { features });
    printLine('Portal', `${id}, with updated features`);
    return id;
  }
  const { id } = await stripe.billingPortal.configurations.create({
    name: 'Genmeter',
    features,
    metadata: OWN_METADATA,
  });
  printLine('Portal', id);
  return id;
}

function getProductId(product: Stripe.Price['product']): string {
  return typeof product === 'string' ? product : product.id;
}

function printLine(what: string, words: string): void {
  console.error(`  ${what.padEnd(8)} ${words}`);
}

interface SetupSettings {
  secretKey: string;
  apiBase: string | undefined;
  baseUrl: string;
  plans: readonly Plan[];
}

function readSettings(): SetupSettings {
  const secretKey = readEnv('STRIPE_SECRET_KEY');
  if (secretKey === undefined) {
    throw new Error('STRIPE_SECRET_KEY is not set: copy a secret key from https://dashboard.stripe.com/apikeys.');
  }
  if (!/^(sk|rk)_\S+$/.test(secretKey)) throw new Error('STRIPE_SECRET_KEY must be a secret key of Stripe, sk_...');
  const baseUrl = (readEnv('BASE_URL') ?? `http://localhost:${readEnv('PORT') ?? 3000}`).replace(/\/+$/, '');
  const apiBase = readEnv('STRIPE_API_BASE');
  for (const [name, value] of Object.entries({ BASE_URL: baseUrl, STRIPE_API_BASE: apiBase })) {
    if (value !== undefined && !(/^https?:/.test(value) && URL.canParse(value))) {
      throw new Error(`${name} must be a URL such as https://example.com.`);
    }
  }
  const catalog = readEnv('CATALOG');
  const CATALOG = catalog && readJsonVariable('CATALOG', catalog, process.env);
  return { secretKey, apiBase, baseUrl, plans: parseCatalog({ CATALOG }).plans };
}

function readEnv(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}

/** Describes an error, with what to do. */
function describeError(error: unknown): string {
  const words = getErrorMessage(error);
  if (error instanceof Stripe.errors.StripeAuthenticationError) return `Stripe rejected STRIPE_SECRET_KEY: ${words}`;
  if (error instanceof Stripe.errors.StripePermissionError) return `STRIPE_SECRET_KEY lacks a permission: ${words}`;
  if (error instanceof Stripe.errors.StripeConnectionError) return `Stripe does not respond: ${words}`;
  return error instanceof Stripe.errors.StripeError ? `Stripe rejected the request: ${words}` : words;
}

/** Runs `npm run stripe:setup`. */
async function main(): Promise<void> {
  readCommandLine('npm run stripe:setup', HELP, {});
  loadEnvFile();
  const { secretKey, apiBase, baseUrl, plans } = readSettings();
  console.error(`\nSetting up Stripe, in ${secretKey.includes('_live_') ? 'live' : 'test'} mode, for ${baseUrl}:\n`);
  const lines = await setUpStripe(createStripeClient(secretKey, apiBase), baseUrl, plans);
  console.error('\nFor your .env:\n');
  // Starts on a new line, in case the last line of the file does not end with one.
  console.log(`\n${lines.join('\n')}`);
}

main().catch((error: unknown) => {
  console.error(describeError(error));
  process.exitCode = 1;
});
