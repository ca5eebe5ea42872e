import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import Type, { type Static } from 'typebox';
import { validateMetricsSettings } from './listenSettings.ts';
import { validateSignInSettings, unescapeLineBreaks } from './signInSettings.ts';

const Port = (fallback: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: fallback });
const PositiveInteger = (fallback: number, minimum = 1) =>
  Type.Integer({ minimum, maximum: 1_000_000, default: fallback });
const HttpUrl = (options: Record<string, unknown> = {}) =>
  Type.String({ pattern: '^https?://[^\\s]+$', description: 'an address such as https://example.com', ...options });
const Price = Type.String({
  pattern: '^price_[^\\s,]+( *, *price_[^\\s,]+)*$',
  description: 'the id of a price of Stripe, price_..., with those that were sold before after it, with commas between',
});
const UpstreamModel = (options: Record<string, unknown> = {}) =>
  Type.String({
    pattern: '^[a-z0-9_-]+:\\S+$',
    description: 'the name of an upstream and of its model, such as fal:fal-ai/nano-banana-2',
    ...options,
  });
const OnOff = (fallback: 'on' | 'off') => Type.Enum(['on', 'off'], { default: fallback });

/** Every environment variable that the service reads, with its default. This is the only place that reads them. */
const Environment = Type.Object({
  NODE_ENV: Type.Enum(['development', 'test', 'production'], { default: 'development' }),
  LOG_LEVEL: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], { default: 'info' }),

  PORT: Port(3000),
  /** Unless set: all addresses in production, else this machine alone, as anybody can sign in as anybody. */
  HOST: Type.Optional(Type.String({ minLength: 1 })),
  BASE_URL: Type.Optional(HttpUrl()),
  CDN_URL: Type.Optional(HttpUrl()),
  /** How many proxies of ours stand in front and add to X-Forwarded-For. */
  TRUSTED_PROXIES: Type.Integer({ minimum: 0, maximum: 10, default: 0 }),

  DATABASE_URL: Type.String({
    pattern: '^postgres(ql)?://',
    description: 'an address such as postgres://user@host/name',
  }),
  DATABASE_POOL_MAX: PositiveInteger(10, 2),
  DATABASE_TIMEOUT_MS: PositiveInteger(1_500, 100),
  /** Mixed into what is encrypted in the database; without it the password of DATABASE_URL is. The same for all processes. */
  SECRET_KEY: Type.Optional(
    Type.String({ pattern: '^\\S{16,}$', description: 'a secret of at least 16 characters without white space' }),
  ),
  REDIS_URL: Type.String({ pattern: '^rediss?://', description: 'an address such as redis://host:6379' }),
  /** `no-verify` for those who hand out a Redis with a certificate that nobody has signed. */
  REDIS_TLS: Type.Enum(['verify', 'no-verify'], { default: 'verify' }),
  REDIS_PREFIX: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', default: 'genmeter' }),

  MEDIA_DIR: Type.String({ default: '.data/media', minLength: 1 }),
  MEDIA_MAX_BYTES: Type.Integer({ minimum: 1_000, default: 512 * 1024 * 1024 }),
  MEDIA_FFMPEG_PATH: Type.Optional(Type.String({ minLength: 1 })),
  /** With a bucket outputs are kept there, and MEDIA_DIR holds them only on their way in. */
  MEDIA_S3_BUCKET: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._-]+$', description: 'the name of a bucket' })),
  MEDIA_S3_ENDPOINT: Type.Optional(HttpUrl()),
  MEDIA_S3_REGION: Type.String({ default: 'us-east-1', minLength: 1 }),
  MEDIA_S3_ACCESS_KEY_ID: Type.Optional(Type.String()),
  MEDIA_S3_SECRET_ACCESS_KEY: Type.Optional(Type.String()),
  /** Put before every key in the bucket. */
  MEDIA_S3_PREFIX: Type.String({
    default: '',
    pattern: '^([^/\\s]+(/[^/\\s]+)*)?$',
    description: 'a path without slashes at its ends',
  }),

  VIDEO_UPSTREAM: UpstreamModel({ default: 'fal:fal-ai/bytedance/seedance/v1.5/pro/text-to-video' }),
  VIDEO_UPSTREAM_FALLBACK: Type.Optional(UpstreamModel()),
  IMAGE_UPSTREAM: UpstreamModel({ default: 'fal:fal-ai/nano-banana-2' }),
  IMAGE_UPSTREAM_FALLBACK: Type.Optional(UpstreamModel()),
  FAL_BASE_URL: HttpUrl({ default: 'https://queue.fal.run' }),
  FAL_KEY: Type.Optional(Type.String()),
  OPENAI_BASE_URL: HttpUrl({ default: 'https://api.openai.com/v1' }),
  OPENAI_API_KEY: Type.Optional(Type.String()),
  REPLICATE_BASE_URL: HttpUrl({ default: 'https://api.replicate.com/v1' }),
  REPLICATE_API_TOKEN: Type.Optional(Type.String()),
  /** JSON, or the name of a file of it: see shared/gateways/upstreams/upstreamConfig.ts. */
  UPSTREAMS: Type.String({ default: '{}' }),
  UPSTREAM_TIMEOUT_MS: PositiveInteger(6_000, 100),
  UPSTREAM_SYNC_TIMEOUT_MS: PositiveInteger(240_000, 100),
  UPSTREAM_CONCURRENCY: PositiveInteger(64),

  /** Well below the time after which a model without a probe counts as offline. */
  PROBE_INTERVAL_MS: Type.Integer({ minimum: 200, maximum: 20_000, default: 10_000 }),
  WORKER_CONCURRENCY: PositiveInteger(16),
  SWEEP_INTERVAL_MS: PositiveInteger(2_000, 100),

  /** Pages of other origins that may speak to /mcp from a browser. */
  MCP_ALLOWED_ORIGINS: Type.String({
    default: '',
    pattern: '^(\\*|https?://[^\\s,/]+(\\s*,\\s*https?://[^\\s,/]+)*)?$',
    description: 'origins such as https://example.com, with commas between them, or * for all',
  }),

  RATE_LIMITS: OnOff('on'),
  RATE_CREATES_PER_MINUTE: PositiveInteger(60),
  RATE_REQUESTS_PER_MINUTE: PositiveInteger(600),
  RATE_PAYMENTS_PER_MINUTE: PositiveInteger(60),
  RATE_PUBLIC_PER_MINUTE: PositiveInteger(120),
  RATE_OAUTH_PER_MINUTE: PositiveInteger(30),

  /** Whose accounts are the staff's, by e-mail address. */
  STAFF_EMAILS: Type.String({
    default: '',
    pattern: '^([^\\s,@]+@[^\\s,@]+(\\s*,\\s*[^\\s,@]+@[^\\s,@]+)*)?$',
    description: 'e-mail addresses such as one@example.com, with commas between them',
  }),
  /** Where this process tells Prometheus what it counts; without it, nowhere. */
  METRICS_PORT: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 })),
  METRICS_HOST: Type.String({ default: '0.0.0.0', minLength: 1 }),
  METRICS_TOKEN: Type.Optional(
    Type.String({ pattern: '^\\S{16,}$', description: 'a secret of at least 16 characters without white space' }),
  ),

  /** Schemes of redirect addresses, beyond those that are known, that clients may register. */
  OAUTH_PRIVATE_SCHEMES: Type.String({
    default: '',
    pattern: '^([a-z][a-z0-9+-]{2,}(\\s*,\\s*[a-z][a-z0-9+-]{2,})*)?$',
    description: 'schemes without the colon, such as myapp, with commas between them',
  }),
  /** Whether clients may be identified by the address of a metadata document, which the API then fetches. */
  OAUTH_CLIENT_METADATA_DOCUMENTS: OnOff('on'),
  /** A host whose Client ID Metadata Documents may be at a private address and come without TLS: for tests. */
  OAUTH_CLIENT_DOCUMENT_HOST: Type.Optional(
    Type.String({ pattern: '^[a-z0-9.-]+:\\d{1,5}$', description: 'a host and port such as 127.0.0.1:8080' }),
  ),

  STRIPE_SECRET_KEY: Type.Optional(
    Type.String({ pattern: '^(sk|rk)_\\S+$', description: 'a secret key of Stripe, sk_...' }),
  ),
  STRIPE_WEBHOOK_SECRET: Type.Optional(
    Type.String({ pattern: '^whsec_\\S+$', description: 'a signing secret of Stripe, whsec_...' }),
  ),
  /** Of the webhook for connected accounts, those of affiliates; without one they are looked at by the hour. */
  STRIPE_CONNECT_WEBHOOK_SECRET: Type.Optional(
    Type.String({ pattern: '^whsec_\\S+$', description: 'a signing secret of Stripe, whsec_...' }),
  ),
  STRIPE_PRICE_LITE: Type.Optional(Price),
  STRIPE_PRICE_STARTER: Type.Optional(Price),
  STRIPE_PRICE_PRO: Type.Optional(Price),
  STRIPE_PRICE_STUDIO: Type.Optional(Price),
  STRIPE_PORTAL_CONFIGURATION: Type.Optional(
    Type.String({ pattern: '^bpc_\\S+$', description: 'the id of a portal configuration of Stripe, bpc_...' }),
  ),
  /** The page that customers come back to from the processor's. */
  BILLING_RETURN_URL: Type.Optional(HttpUrl()),
  /** In the place of Stripe's own address. */
  STRIPE_API_BASE: Type.Optional(HttpUrl()),

  /** Who signs people in: see shared/gateways/identity. */
  GOOGLE_CLIENT_ID: Type.Optional(Type.String()),
  GOOGLE_CLIENT_SECRET: Type.Optional(Type.String()),
  GOOGLE_ISSUER: HttpUrl({ default: 'https://accounts.google.com' }),
  APPLE_CLIENT_ID: Type.Optional(Type.String()),
  APPLE_TEAM_ID: Type.Optional(Type.String()),
  APPLE_KEY_ID: Type.Optional(Type.String()),
  APPLE_PRIVATE_KEY: Type.Optional(Type.String()),
  APPLE_ISSUER: HttpUrl({ default: 'https://appleid.apple.com' }),
  GITHUB_CLIENT_ID: Type.Optional(Type.String()),
  GITHUB_CLIENT_SECRET: Type.Optional(Type.String()),
  GITHUB_BASE_URL: HttpUrl({ default: 'https://github.com' }),
  GITHUB_API_BASE_URL: HttpUrl({ default: 'https://api.github.com' }),
  /** How long each answer of theirs is waited for. */
  SIGN_IN_TIMEOUT_MS: PositiveInteger(5_000, 100),
});

type Environment = Static<typeof Environment>;

/**
 * What a process is for, and so how much of the configuration it reads. `service`: API and worker, all of it. `admin`
 * and `check`: commands that staff run by hand, which submit nothing and charge nobody, and so neither need nor read
 * keys, providers and addresses.
 */
export type ProcessKind = 'service' | 'admin' | 'check';

export interface Config extends Environment {
  HOST: string;
  /** Where the service is reached from outside, without a slash at the end. */
  BASE_URL: string;
  /** What stands before the path of every output, without a slash at the end. */
  CDN_URL: string;
  BILLING_RETURN_URL: string;
}

/** A configuration that cannot be run with. Its message names the variable and says what to set. */
export class ConfigError extends Error {}

const ajv = new Ajv2020({ coerceTypes: true, useDefaults: true, allErrors: true, validateSchema: false });
const validate = ajv.compile<Environment>(Environment);

/** What a program that is run by hand reads of it: the rest keeps its defaults, and asks for nothing. */
const COMMAND_VARIABLES = [
  'DATABASE_URL',
  'DATABASE_POOL_MAX',
  'DATABASE_TIMEOUT_MS',
  'REDIS_URL',
  'REDIS_TLS',
  'REDIS_PREFIX',
  'LOG_LEVEL',
] as const satisfies (keyof Environment)[];

/** Of each kind of process: the variables that it reads, and what stands for one that it never uses. */
const VARIABLES_BY_KIND: Record<ProcessKind, { names: readonly string[]; unused: Record<string, string> }> = {
  service: { names: Object.keys(Environment.properties), unused: {} },
  admin: { names: COMMAND_VARIABLES, unused: {} },
  check: {
    names: COMMAND_VARIABLES.filter((name) => !name.startsWith('REDIS_')),
    unused: { REDIS_URL: 'redis://unused.invalid' },
  },
};

/**
 * Reads the configuration from environment variables; an empty one counts as unset.
 * @throws ConfigError with a sentence for every problem found.
 */
export function parseConfig(env: Record<string, string | undefined>, kind: ProcessKind = 'service'): Readonly<Config> {
  const { names, unused } = VARIABLES_BY_KIND[kind];
  const values = Object.fromEntries(
    names
      .map((name) => [name, env[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== '')
      .concat(Object.entries(unused)),
  ) as unknown;
  if (!validate(values))
    throw new ConfigError(validate.errors?.map(describeSchemaError).join(' ') ?? 'The configuration is unusable.');
  const problems = CROSS_CHECKS.flatMap((rule) => rule(values) ?? []);
  if (problems.length > 0) throw new ConfigError(problems.join(' '));
  const baseUrl = (values.BASE_URL ?? `http://localhost:${values.PORT}`).replace(/\/+$/, '');
  return Object.freeze({
    ...values,
    HOST: values.HOST ?? (values.NODE_ENV === 'production' ? '0.0.0.0' : '127.0.0.1'),
    BASE_URL: baseUrl,
    CDN_URL: (values.CDN_URL ?? `${baseUrl}/media`).replace(/\/+$/, ''),
    APPLE_PRIVATE_KEY: values.APPLE_PRIVATE_KEY && unescapeLineBreaks(values.APPLE_PRIVATE_KEY),
    BILLING_RETURN_URL: values.BILLING_RETURN_URL ?? `${baseUrl}/account/`,
    UPSTREAMS: expandEnv(readUpstreamsJson(values.UPSTREAMS), env),
  });
}

const URL_VARIABLES = [
  'BASE_URL',
  'CDN_URL',
  'FAL_BASE_URL',
  'OPENAI_BASE_URL',
  'REPLICATE_BASE_URL',
  'MEDIA_S3_ENDPOINT',
  'STRIPE_API_BASE',
  'BILLING_RETURN_URL',
  'GOOGLE_ISSUER',
  'APPLE_ISSUER',
  'GITHUB_BASE_URL',
  'GITHUB_API_BASE_URL',
] as const;

/** What must hold between settings, each of which is valid by itself. Each rule returns its problems as sentences. */
const CROSS_CHECKS: readonly ((values: Environment) => string[] | string | undefined)[] = [
  checkProductionOnly,
  checkPayments,
  (values) =>
    URL_VARIABLES.filter((name) => values[name] !== undefined && !URL.canParse(values[name])).map(
      (name) => `${name} must be an address such as https://example.com.`,
    ),
  checkBucket,
  validateSignInSettings,
  validateMetricsSettings,
  checkPublicAddress,
];

function checkProductionOnly(values: Environment): string[] {
  if (values.NODE_ENV !== 'production') return [];
  const problems: string[] = [];
  if (values.OAUTH_CLIENT_DOCUMENT_HOST !== undefined)
    problems.push('OAUTH_CLIENT_DOCUMENT_HOST must not be set with NODE_ENV=production: it is for tests.');
  if (values.STRIPE_API_BASE?.startsWith('http:') === true)
    problems.push('STRIPE_API_BASE must begin with https:// with NODE_ENV=production: the secret key goes there.');
  return problems;
}

/** Without Stripe payments are simulated and plans given away, for development only; with it, all of it is needed. */
function checkPayments(values: Environment): string | undefined {
  if (values.STRIPE_SECRET_KEY === undefined) {
    if (values.NODE_ENV === 'production') {
      return 'STRIPE_SECRET_KEY is not set: NODE_ENV=production is refused while plans are given away.';
    }
    if (!isPublicHttpsUrl(values.BASE_URL)) return undefined;
    return 'STRIPE_SECRET_KEY is not set: plans would be given away at a public BASE_URL. Set it, or use a local address.';
  }
  if (values.NODE_ENV === 'production' && /^(sk|rk)_test_/.test(values.STRIPE_SECRET_KEY)) {
    return 'STRIPE_SECRET_KEY is a test key: with NODE_ENV=production, test cards would buy credits. Set a live key.';
  }
  const missing = STRIPE_VARIABLES.filter((name) => values[name] === undefined);
  if (missing.length === 0) return undefined;
  return `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set, but STRIPE_SECRET_KEY is: npm run stripe:setup makes and prints them (on localhost stripe listen prints STRIPE_WEBHOOK_SECRET).`;
}

/** Whether an address is https and not of this machine. Addresses that cannot be parsed are refused later. */
function isPublicHttpsUrl(address: string | undefined): boolean {
  if (address === undefined || !URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' && !/^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

const STRIPE_VARIABLES = [
  'STRIPE_WEBHOOK_SECRET',
  'STRIPE_PRICE_LITE',
  'STRIPE_PRICE_STARTER',
  'STRIPE_PRICE_PRO',
  'STRIPE_PRICE_STUDIO',
  'STRIPE_PORTAL_CONFIGURATION',
] as const;

/** Cookies, sign-in and tokens all go by the address that the service is reached at. */
function checkPublicAddress({ NODE_ENV, BASE_URL }: Environment): string | undefined {
  if (BASE_URL !== undefined && URL.canParse(BASE_URL) && new URL(BASE_URL).pathname !== '/')
    return 'BASE_URL must be an address without a path, such as https://example.com.';
  if (NODE_ENV !== 'production' || BASE_URL?.startsWith('https:')) return undefined;
  return 'BASE_URL must be the https address that the service is reached at, with NODE_ENV=production.';
}

/** Outputs in a bucket are served from there, not by the API; and half a pair of keys is none. */
function checkBucket(values: Environment): string[] {
  const problems: string[] = [];
  if (values.MEDIA_S3_BUCKET !== undefined && values.CDN_URL === undefined)
    problems.push('CDN_URL is not set: with MEDIA_S3_BUCKET it must be the address that the bucket is read at.');
  const pair = ['MEDIA_S3_ACCESS_KEY_ID', 'MEDIA_S3_SECRET_ACCESS_KEY'] as const;
  const missing = pair.filter((name) => values[name] === undefined);
  if (missing.length === 1) problems.push(`${missing[0]} is not set, but the other half of the pair is.`);
  return problems;
}

/** What UPSTREAMS says itself, or the file that it names. */
function readUpstreamsJson(value: string): string {
  if (value.startsWith('{')) return value;
  try {
    return readFileSync(value, 'utf8');
  } catch (error) {
    throw new ConfigError(
      // Its name is not repeated: it may be JSON in quotes, with keys in it.
      `UPSTREAMS must be JSON or the name of a file that can be read (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
}

/** Puts variables in the place of `${NAME}`, inside JSON strings: so that secrets need not stand in a file. */
function expandEnv(json: string, env: Record<string, string | undefined>): string {
  return json.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = env[name]?.trim();
    if (value === undefined || value === '') throw new ConfigError(`${name} is not set, but UPSTREAMS refers to it.`);
    return JSON.stringify(value).slice(1, -1);
  });
}

function describeSchemaError(error: {
  instancePath: string;
  keyword: string;
  message?: string;
  params: Record<string, unknown>;
}) {
  if (error.keyword === 'required') {
    const name = String(error.params['missingProperty']);
    return `${name} is not set: it must be ${describeExpectedValue(name)}.`;
  }
  const name = error.instancePath.slice(1);
  if (error.keyword === 'enum')
    return `${name} must be one of ${(error.params['allowedValues'] as string[]).join(', ')}.`;
  return `${name} must be ${describeExpectedValue(name)}.`;
}

interface DescribedSchema {
  description?: string;
  minimum?: number;
  maximum?: number;
}

function describeExpectedValue(name: string): string {
  const { description, minimum, maximum } = (Environment.properties as Record<string, DescribedSchema>)[name] ?? {};
  if (description !== undefined) return description;
  if (minimum === undefined) return 'a text that is not empty';
  return maximum === undefined ? `a whole number from ${minimum}` : `a whole number from ${minimum} to ${maximum}`;
}

/** The configuration of the open service. Undefined until {@link setConfig} was called. */
export let config: Readonly<Config>;

/** Sets the configuration of the open service. */
export function setConfig(next: Readonly<Config>): void {
  config = next;
}
