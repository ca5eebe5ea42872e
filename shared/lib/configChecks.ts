import pg from 'pg';
import { validateBrandSettings } from './brandSettings.ts';
import type { Environment } from './configVariables.ts';
import { validateMetricsSettings } from './listenSettings.ts';
import { parseMailAddress } from './email.ts';
import { parseRedisAddress } from './redisAddress.ts';
import { validateSignInSettings } from './signInSettings.ts';
import { canParseUrl } from './canParseUrl.ts';

const URL_VARIABLES = [
  'BASE_URL',
  'CDN_URL',
  'TERMS_URL',
  'PRIVACY_URL',
  'BRAND_LOGO_URL',
  'FAL_BASE_URL',
  'OPENAI_BASE_URL',
  'REPLICATE_BASE_URL',
  'MEDIA_S3_ENDPOINT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'MODERATION_URL',
  'STRIPE_API_BASE',
  'BILLING_RETURN_URL',
  'GOOGLE_ISSUER',
  'APPLE_ISSUER',
  'GITHUB_BASE_URL',
  'GITHUB_API_BASE_URL',
  'HTTPS_PROXY',
] as const;

/** Checks across variables that are valid by themselves. Each check returns its problems as sentences. */
export const CROSS_CHECKS: readonly ((values: Environment) => string[] | string | undefined)[] = [
  checkDatabaseAddress,
  checkProductionOnly,
  checkServerSecrets,
  checkPayments,
  checkPaymentOptions,
  (values) =>
    URL_VARIABLES.filter((name) => values[name] !== undefined && !canParseUrl(values[name])).map(
      (name) => `${name} must be an address such as https://example.com.`,
    ),
  checkRedisAddress,
  checkBucket,
  checkMail,
  checkModeration,
  validateSignInSettings,
  validateMetricsSettings,
  validateBrandSettings,
  checkPublicAddress,
];

/** The driver connects to one host. It would report several as an invalid address or an unknown host. */
function checkDatabaseAddress({ DATABASE_URL }: Environment): string | undefined {
  const [, authority = '', parameters = ''] = /^[^:]+:\/\/([^/?]*)[^?]*(.*)$/s.exec(DATABASE_URL) ?? [];
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  if (hosts.includes(',') || /[?&]host=[^&]*(,|%2c)/i.test(parameters))
    return 'DATABASE_URL must name one host: with several servers, the address of a proxy or a service that leads to the primary.';
  try {
    parseDatabasePassword(DATABASE_URL);
    return undefined;
  } catch (error) {
    return `DATABASE_URL must be an address such as postgres://user:password@host/name, with # and % in the password written as %23 and %25 (${(error as Error).message}).`;
  }
}

/**
 * Returns the password in an address as the driver reads it; empty for none.
 * @throws Error if the driver cannot parse the address. The message does not contain it.
 */
export function parseDatabasePassword(address: string): string {
  return new pg.Client(address).password ?? '';
}

function checkProductionOnly(values: Environment): string[] {
  if (values.NODE_ENV !== 'production') return [];
  const problems: string[] = [];
  if (values.OAUTH_CLIENT_DOCUMENT_HOST !== undefined)
    problems.push('OAUTH_CLIENT_DOCUMENT_HOST must not be set with NODE_ENV=production: it is for tests.');
  if (values.WEBHOOK_ADDRESSES === 'any')
    problems.push('WEBHOOK_ADDRESSES must be public with NODE_ENV=production: customers could reach your own network.');
  if (values.INPUT_IMAGE_ADDRESSES === 'any')
    problems.push(
      'INPUT_IMAGE_ADDRESSES must be public with NODE_ENV=production: customers could reach your own network.',
    );
  if (values.STRIPE_API_BASE?.startsWith('http:') === true)
    problems.push('STRIPE_API_BASE must begin with https:// with NODE_ENV=production: the secret key goes there.');
  return problems;
}

const SECRET_MIN_CHARACTERS = 16;
const SECRET_MIN_DISTINCT_CHARACTERS = 8;
/** Words of examples and of passwords that are guessed first. */
const KNOWN_SECRET = /genmeter|postgres|password|passw0rd|change.?me|example|secret|12345678|abcdefgh|qwert/i;

/**
 * Requires secrets in production that cannot be guessed. SECRET_KEY signs addresses and call-backs, and encrypts what
 * is stored. Without it the password of the database does, which is `genmeter` by default in compose.yaml.
 */
function checkServerSecrets(values: Environment): string[] {
  const { NODE_ENV, SECRET_KEY, DATABASE_URL } = values;
  if (NODE_ENV !== 'production' || checkDatabaseAddress(values) !== undefined) return [];
  const password = parseDatabasePassword(DATABASE_URL);
  const rule = `NODE_ENV=production requires a random one of at least ${SECRET_MIN_CHARACTERS} characters`;
  const create = 'openssl rand -hex 32';
  if (SECRET_KEY === undefined)
    return canBeGuessed(password)
      ? [
          `SECRET_KEY is not set, and the password in DATABASE_URL, which is used instead, can be guessed: ${rule}. Set SECRET_KEY: ${create}`,
        ]
      : [];
  const problems: string[] = [];
  if (canBeGuessed(SECRET_KEY)) problems.push(`SECRET_KEY can be guessed: ${rule}. Set SECRET_KEY: ${create}`);
  // Without a password the database identifies the service by other means.
  if (password !== '' && canBeGuessed(password))
    problems.push(`The password in DATABASE_URL can be guessed: ${rule}. Change it: ${create}`);
  return problems;
}

function canBeGuessed(secret: string): boolean {
  return (
    secret.length < SECRET_MIN_CHARACTERS ||
    new Set(secret).size < SECRET_MIN_DISTINCT_CHARACTERS ||
    KNOWN_SECRET.test(secret)
  );
}

/** Requires Stripe in production and all of its variables together. Without Stripe, payments are simulated. */
function checkPayments(values: Environment): string | undefined {
  if (values.STRIPE_SECRET_KEY === undefined) {
    if (values.NODE_ENV === 'production') {
      return 'STRIPE_SECRET_KEY is not set: NODE_ENV=production requires it, because plans are free without Stripe.';
    }
    if (!isPublicHttpsUrl(values.BASE_URL)) return undefined;
    return 'STRIPE_SECRET_KEY is not set: without Stripe, plans would be free at a public BASE_URL. Set it, or use a local address.';
  }
  if (values.NODE_ENV === 'production' && /^(sk|rk)_test_/.test(values.STRIPE_SECRET_KEY)) {
    return 'STRIPE_SECRET_KEY is a test key: with NODE_ENV=production, test cards would buy credits. Set a live key.';
  }
  // The prices of the plans of a CATALOG are checked once it is parsed.
  const isRequired = (name: string) => values.CATALOG === undefined || !name.startsWith('STRIPE_PRICE_');
  const missing = STRIPE_VARIABLES.filter((name) => isRequired(name) && values[name] === undefined);
  if (missing.length === 0) return undefined;
  return `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set, but STRIPE_SECRET_KEY is: npm run stripe:setup creates and prints them (on localhost, stripe listen prints STRIPE_WEBHOOK_SECRET).`;
}

/** Rejects options of Stripe that would have no effect. */
function checkPaymentOptions(values: Environment): string[] {
  if (values.STRIPE_SECRET_KEY !== undefined) return [];
  return (['STRIPE_TAX', 'STRIPE_PROMOTION_CODES'] as const)
    .filter((name) => values[name] === 'on')
    .map((name) => `${name} is on, but STRIPE_SECRET_KEY is not set: set it, or set ${name} to off.`);
}

/** Returns true for an https address that is not local. Another check reports addresses that cannot be parsed. */
export function isPublicHttpsUrl(address: string | undefined): boolean {
  if (address === undefined || !canParseUrl(address)) return false;
  return new URL(address).protocol === 'https:' && !isLocalUrl(address);
}

/** Returns true if the host of an address is this machine. The address must be one that can be parsed. */
export function isLocalUrl(address: string): boolean {
  return LOCAL_HOST.test(new URL(address).hostname);
}

/** Host names and addresses of this machine. */
const LOCAL_HOST = /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/;

const STRIPE_VARIABLES = [
  'STRIPE_WEBHOOK_SECRET',
  'STRIPE_PRICE_LITE',
  'STRIPE_PRICE_STARTER',
  'STRIPE_PRICE_PRO',
  'STRIPE_PRICE_STUDIO',
  'STRIPE_PORTAL_CONFIGURATION',
] as const;

/** Checks BASE_URL, on which cookies, sign-in and tokens depend. */
function checkPublicAddress({ NODE_ENV, BASE_URL }: Environment): string | undefined {
  if (BASE_URL !== undefined && canParseUrl(BASE_URL) && new URL(BASE_URL).href !== `${new URL(BASE_URL).origin}/`)
    return 'BASE_URL must be an address without a path, a query or a user name, such as https://example.com.';
  if (NODE_ENV !== 'production' || BASE_URL?.startsWith('https:')) return undefined;
  return 'BASE_URL must be the https address that the service is reached at, with NODE_ENV=production.';
}

function checkRedisAddress({ REDIS_URL }: Environment): string | undefined {
  try {
    parseRedisAddress(REDIS_URL);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Requires a sender for e-mail, an address of the server that can be parsed, and a secret for links to unsubscribe: the
 * password of the database may be absent, and must not be derivable from what customers receive.
 */
function checkMail({ SMTP_URL, MAIL_FROM, SECRET_KEY, NODE_ENV, BASE_URL }: Environment): string[] {
  const problems: string[] = [];
  const isPublic = isPublicHttpsUrl(BASE_URL) && !/^smtps?:\/\/(localhost|127\.0\.0\.1)(:|\/|$)/.test(SMTP_URL ?? '');
  if (SMTP_URL !== undefined && SECRET_KEY === undefined && (NODE_ENV === 'production' || isPublic))
    problems.push(
      'SECRET_KEY is not set, but SMTP_URL is: links to unsubscribe are signed with it. Set a random one: openssl rand -hex 32',
    );
  if (SMTP_URL !== undefined && !(canParseUrl(SMTP_URL) && new URL(SMTP_URL).hostname !== ''))
    problems.push('SMTP_URL must be an address such as smtp://user:password@mail.example.com:587.');
  if (SMTP_URL !== undefined && MAIL_FROM === undefined)
    problems.push('MAIL_FROM is not set, but SMTP_URL is: set the sender, such as no-reply@example.com.');
  if (MAIL_FROM !== undefined && parseMailAddress(MAIL_FROM) === null)
    problems.push('MAIL_FROM must be a sender such as genmeter <no-reply@example.com>.');
  return problems;
}

/** Requires https for prompts that leave this machine, and an address for the token. */
function checkModeration({ MODERATION_URL, MODERATION_TOKEN }: Environment): string[] {
  if (MODERATION_URL === undefined) {
    return MODERATION_TOKEN === undefined
      ? []
      : ['MODERATION_URL is not set, but MODERATION_TOKEN is: set the address of the moderation service.'];
  }
  if (!canParseUrl(MODERATION_URL)) return [];
  const { protocol, hostname, username, password } = new URL(MODERATION_URL);
  const problems: string[] = [];
  if (protocol !== 'https:' && !LOCAL_HOST.test(hostname))
    problems.push('MODERATION_URL must begin with https://, except on this machine: prompts are personal data.');
  if (username !== '' || password !== '')
    problems.push('MODERATION_URL must not contain a user name or password: set MODERATION_TOKEN.');
  return problems;
}

/** Requires CDN_URL for outputs in a bucket, and access key id and secret together. */
function checkBucket(values: Environment): string[] {
  const problems: string[] = [];
  if (values.MEDIA_S3_BUCKET !== undefined && values.CDN_URL === undefined)
    problems.push('CDN_URL is not set: with MEDIA_S3_BUCKET it must be the public address of the bucket.');
  const pair = ['MEDIA_S3_ACCESS_KEY_ID', 'MEDIA_S3_SECRET_ACCESS_KEY'] as const;
  const missing = pair.filter((name) => values[name] === undefined);
  if (missing.length === 1) problems.push(`${missing[0]} is not set, but the other key of the pair is.`);
  return problems;
}
