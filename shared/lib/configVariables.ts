import Type, { type Static } from 'typebox';
import { STAFF_ROLES } from '../spec/staff.ts';
import { REDIS_URL_DESCRIPTION } from './redisAddress.ts';

const Port = (fallback: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: fallback });
const PositiveInteger = (fallback: number, minimum = 1) =>
  Type.Integer({ minimum, maximum: 1_000_000, default: fallback });
const HttpUrl = (options: Record<string, unknown> = {}) =>
  Type.String({ pattern: '^https?://[^\\s]+$', description: 'an address such as https://example.com', ...options });
const Price = Type.String({
  pattern: '^price_[^\\s,]+( *, *price_[^\\s,]+)*$',
  description: 'a Stripe price id, price_..., optionally followed by former prices, separated by commas',
});
const UpstreamModel = (options: Record<string, unknown> = {}) =>
  Type.String({
    pattern: '^[a-z0-9_-]+:\\S+$',
    description: 'the name of an upstream and of its model, such as fal:fal-ai/nano-banana-2',
    ...options,
  });
/** `address` or `address:role`. */
const STAFF_ENTRY = `[^\\s,@]+@[^\\s,@:]+(:(${STAFF_ROLES.join('|')}))?`;
const ROLE_LIMIT = `(${STAFF_ROLES.join('|')}):\\d{1,12}`;
const RoleLimits = (fallback: string) =>
  Type.String({
    default: fallback,
    pattern: `^(${ROLE_LIMIT}(\\s*,\\s*${ROLE_LIMIT})*)?$`,
    description: `limits such as finance:50000, with commas between them, for the roles ${STAFF_ROLES.join(', ')}`,
  });
const Origins = () =>
  Type.String({
    default: '',
    pattern: '^(\\*|https?://[^\\s,/]+(\\s*,\\s*https?://[^\\s,/]+)*)?$',
    description: 'origins such as https://example.com, with commas between them, or * for all',
  });
const OnOff = (fallback: 'on' | 'off') => Type.Enum(['on', 'off'], { default: fallback });

/** Every environment variable that the service reads, with its default. This is the only place that reads them. */
export const Environment = Type.Object({
  NODE_ENV: Type.Enum(['development', 'test', 'production'], { default: 'development' }),
  LOG_LEVEL: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], { default: 'info' }),

  PORT: Port(3000),
  /** Default: all addresses in production, otherwise this machine only, because sign-in is not protected there. */
  HOST: Type.Optional(Type.String({ minLength: 1 })),
  BASE_URL: Type.Optional(HttpUrl()),
  CDN_URL: Type.Optional(HttpUrl()),
  /** Pages and address that every page links to. */
  TERMS_URL: Type.Optional(HttpUrl()),
  PRIVACY_URL: Type.Optional(HttpUrl()),
  SUPPORT_EMAIL: Type.Optional(
    Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', description: 'an address such as support@example.com' }),
  ),
  /** Name, logo and accent of the pages: see brandSettings.ts. */
  BRAND_NAME: Type.String({
    default: 'genmeter',
    pattern: '^[^\\p{Cc}<>"]{1,40}$',
    description: 'a name of 1 to 40 characters',
  }),
  BRAND_LOGO_URL: Type.Optional(HttpUrl()),
  BRAND_COLOR: Type.Optional(
    Type.String({
      pattern: '^#[0-9a-fA-F]{6}( *, *#[0-9a-fA-F]{6})?$',
      description: 'a color such as #1f5f8b, optionally followed by a comma and one for dark backgrounds',
    }),
  ),
  /** Number of trusted proxies in front that append to X-Forwarded-For. */
  TRUSTED_PROXIES: Type.Integer({ minimum: 0, maximum: 10, default: 0 }),

  /** Time for which the API serves requests after SIGTERM while readiness is 503, so that the balancer notices. */
  DRAIN_MS: Type.Integer({ minimum: 0, maximum: 60_000, default: 0 }),

  DATABASE_URL: Type.String({
    pattern: '^postgres(ql)?://',
    description: 'an address such as postgres://user@host/name',
  }),
  DATABASE_POOL_MAX: PositiveInteger(10, 2),
  DATABASE_TIMEOUT_MS: PositiveInteger(1_500, 100),
  /** Key for data encrypted in the database, the same for all processes. Default: the password of DATABASE_URL. */
  SECRET_KEY: Type.Optional(
    Type.String({ pattern: '^\\S{16,}$', description: 'a secret of at least 16 characters without white space' }),
  ),
  /** One server, `redis+sentinel://` or `redis+cluster://`: see redisAddress.ts. */
  REDIS_URL: Type.String({ pattern: '^rediss?(\\+(sentinel|cluster))?://', description: REDIS_URL_DESCRIPTION }),
  /** `no-verify` accepts a self-signed certificate, as some hosting providers use for Redis. */
  REDIS_TLS: Type.Enum(['verify', 'no-verify'], { default: 'verify' }),
  REDIS_PREFIX: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', default: 'genmeter' }),

  MEDIA_DIR: Type.String({ default: '.data/media', minLength: 1 }),
  MEDIA_MAX_BYTES: Type.Integer({ minimum: 1_000, default: 512 * 1024 * 1024 }),
  MEDIA_FFMPEG_PATH: Type.Optional(Type.String({ minLength: 1 })),
  /** Bucket that stores outputs. MEDIA_DIR then holds temporary files only. */
  MEDIA_S3_BUCKET: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._-]+$', description: 'the name of a bucket' })),
  MEDIA_S3_ENDPOINT: Type.Optional(HttpUrl()),
  MEDIA_S3_REGION: Type.String({ default: 'us-east-1', minLength: 1 }),
  MEDIA_S3_ACCESS_KEY_ID: Type.Optional(Type.String()),
  MEDIA_S3_SECRET_ACCESS_KEY: Type.Optional(Type.String()),
  /** Prefix of every key in the bucket. */
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
  /** JSON, or the path of a JSON file: see shared/gateways/upstreams/upstreamConfig.ts. */
  UPSTREAMS: Type.String({ default: '{}' }),
  /** JSON, or the path of a JSON file: see shared/lib/catalog/catalog.ts. Unset: the default models and plans. */
  CATALOG: Type.Optional(Type.String()),
  /** Address of the sample upstream that runs the generations of test keys. Unset: no test keys can be created. */
  TEST_UPSTREAM_URL: Type.Optional(HttpUrl()),
  UPSTREAM_TIMEOUT_MS: PositiveInteger(6_000, 100),
  UPSTREAM_SYNC_TIMEOUT_MS: PositiveInteger(240_000, 100),
  UPSTREAM_CONCURRENCY: PositiveInteger(64),

  /** Service that decides whether the content of a create is acceptable. Unset: everything is. */
  MODERATION_URL: Type.Optional(HttpUrl()),
  /** Bearer token of the requests to it. */
  MODERATION_TOKEN: Type.Optional(
    Type.String({ pattern: '^[\\x21-\\x7e]+$', description: 'a token of ASCII characters without white space' }),
  ),
  /** Timeout of each decision. */
  MODERATION_TIMEOUT_MS: Type.Integer({ minimum: 100, maximum: 10_000, default: 3_000 }),
  /** Without a decision: `reject` answers the create with 503, `allow` accepts it. */
  MODERATION_ON_ERROR: Type.Enum(['reject', 'allow'], { default: 'reject' }),

  /** Interval of model probes. Well below PROBE_STALE_MS, after which a model counts as offline. */
  PROBE_INTERVAL_MS: Type.Integer({ minimum: 200, maximum: 20_000, default: 10_000 }),
  WORKER_CONCURRENCY: PositiveInteger(16),
  SWEEP_INTERVAL_MS: PositiveInteger(2_000, 100),

  /** Other origins whose pages may call /mcp from a browser. */
  MCP_ALLOWED_ORIGINS: Origins(),
  /** Other origins whose pages may call the REST API with a key. */
  API_ALLOWED_ORIGINS: Origins(),

  RATE_LIMITS: OnOff('on'),
  RATE_CREATES_PER_MINUTE: PositiveInteger(60),
  RATE_REQUESTS_PER_MINUTE: PositiveInteger(600),
  RATE_PAYMENTS_PER_MINUTE: PositiveInteger(60),
  RATE_PUBLIC_PER_MINUTE: PositiveInteger(120),
  RATE_OAUTH_PER_MINUTE: PositiveInteger(30),
  RATE_REGISTRATIONS_PER_MINUTE: PositiveInteger(120),

  /** E-mail addresses of staff accounts, each with an optional role. */
  STAFF_EMAILS: Type.String({
    default: '',
    pattern: `^(${STAFF_ENTRY}(\\s*,\\s*${STAFF_ENTRY})*)?$`,
    description: `e-mail addresses such as one@example.com, or one@example.com:role with one of the roles ${STAFF_ROLES.join(', ')}; with commas between them`,
  }),
  /** Credits and cents that a member of staff with each role may give back within 24 hours. */
  STAFF_DAILY_CREDITS: RoleLimits('support:2000,finance:100000,admin:500000'),
  STAFF_DAILY_REFUND_CENTS: RoleLimits('finance:500000,admin:2500000'),
  /** Credits of an adjustment from which a second member of staff must approve it. Unset: none needs one. */
  STAFF_APPROVAL_CREDITS: Type.Optional(Type.Integer({ minimum: 1 })),
  /** Commit that the running code was built from, for `genmeter_build_info`. The image sets it. */
  GIT_COMMIT: Type.String({
    default: 'unknown',
    pattern: '^[\\w.-]{1,64}$',
    description: 'a commit of 1 to 64 letters, digits, `.`, `_` and `-`',
  }),
  /** Port on which this process serves Prometheus metrics. Unset: no metrics. */
  METRICS_PORT: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 })),
  METRICS_HOST: Type.String({ default: '0.0.0.0', minLength: 1 }),
  METRICS_TOKEN: Type.Optional(
    Type.String({ pattern: '^\\S{16,}$', description: 'a secret of at least 16 characters without white space' }),
  ),

  /** Address of an OpenTelemetry collector that accepts OTLP over HTTP. Unset: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(HttpUrl()),
  OTEL_SERVICE_NAME: Type.String({ default: 'genmeter', minLength: 1 }),

  /** Spending limit that the consent page offers for an application. Unset: none. */
  APPLICATION_SPENDING_LIMIT: Type.Optional(
    Type.String({
      pattern: '^[1-9]\\d{0,8}/(day|month)$',
      description: 'a limit of credits such as 200/day or 5000/month',
    }),
  ),
  /** Additional private-use URI schemes that clients may register for redirects. */
  OAUTH_PRIVATE_SCHEMES: Type.String({
    default: '',
    pattern: '^([a-z][a-z0-9+-]{2,}(\\s*,\\s*[a-z][a-z0-9+-]{2,})*)?$',
    description: 'schemes without the colon, such as myapp, with commas between them',
  }),
  /**
   * `on` accepts the URL of a metadata document as client id. The API then fetches the document. `auto` does so, too,
   * but advertises this only while documents can be fetched; otherwise clients register.
   */
  OAUTH_CLIENT_METADATA_DOCUMENTS: Type.Enum(['on', 'auto', 'off'], { default: 'auto' }),
  /** Proxy for fetching these documents, and hosts that are reached without it. */
  HTTPS_PROXY: Type.Optional(HttpUrl({ description: 'the address of a proxy, such as http://proxy.example.com:3128' })),
  NO_PROXY: Type.String({ default: '' }),
  /** Host whose Client ID Metadata Documents may have a private address and no TLS. For tests. */
  OAUTH_CLIENT_DOCUMENT_HOST: Type.Optional(
    Type.String({ pattern: '^[a-z0-9.-]+:\\d{1,5}$', description: 'a host and port such as 127.0.0.1:8080' }),
  ),

  STRIPE_SECRET_KEY: Type.Optional(
    Type.String({ pattern: '^(sk|rk)_\\S+$', description: 'a secret key of Stripe, sk_...' }),
  ),
  STRIPE_WEBHOOK_SECRET: Type.Optional(
    Type.String({ pattern: '^whsec_\\S+$', description: 'a signing secret of Stripe, whsec_...' }),
  ),
  /** Signing secret of the webhook for connected (affiliate) accounts. Unset: these accounts are synced hourly. */
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
  /** `on` adds the tax that Stripe computes to every payment. */
  STRIPE_TAX: OnOff('off'),
  /** `on` offers a field for promotion codes on checkout pages. */
  STRIPE_PROMOTION_CODES: OnOff('off'),
  /** Page to which the payment processor returns customers. */
  BILLING_RETURN_URL: Type.Optional(HttpUrl()),
  /** Replaces Stripe's API address. */
  STRIPE_API_BASE: Type.Optional(HttpUrl()),

  /** Server that sends e-mail. Unset: none is sent. */
  SMTP_URL: Type.Optional(
    Type.String({
      pattern: '^smtps?://[^\\s]+$',
      description: 'an address such as smtp://user:password@mail.example.com:587',
    }),
  ),
  MAIL_FROM: Type.Optional(
    Type.String({
      pattern: '^[^\\r\\n]*[^\\s@]+@[^\\s@]+$',
      description: 'a sender such as genmeter <no-reply@example.com>',
    }),
  ),
  MAIL_REPLY_TO: Type.Optional(
    Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', description: 'an address such as support@example.com' }),
  ),
  /** `any` lets webhooks reach private addresses. For development; rejected in production. */
  WEBHOOK_ADDRESSES: Type.Enum(['public', 'any'], { default: 'public' }),
  /** `any` fetches customers' images from private addresses and over http. For development; rejected in production. */
  INPUT_IMAGE_ADDRESSES: Type.Enum(['public', 'any'], { default: 'public' }),

  /** Sign-in providers: see shared/gateways/identity. */
  GOOGLE_CLIENT_ID: Type.Optional(Type.String()),
  GOOGLE_CLIENT_SECRET: Type.Optional(Type.String()),
  GOOGLE_ISSUER: HttpUrl({ default: 'https://accounts.google.com' }),
  APPLE_CLIENT_ID: Type.Optional(Type.String()),
  APPLE_APP_ID: Type.Optional(Type.String()),
  APPLE_TEAM_ID: Type.Optional(Type.String()),
  APPLE_KEY_ID: Type.Optional(Type.String()),
  APPLE_PRIVATE_KEY: Type.Optional(Type.String()),
  APPLE_ISSUER: HttpUrl({ default: 'https://appleid.apple.com' }),
  GITHUB_CLIENT_ID: Type.Optional(Type.String()),
  GITHUB_CLIENT_SECRET: Type.Optional(Type.String()),
  GITHUB_BASE_URL: HttpUrl({ default: 'https://github.com' }),
  GITHUB_API_BASE_URL: HttpUrl({ default: 'https://api.github.com' }),
  /** Timeout of each request to a sign-in provider. */
  SIGN_IN_TIMEOUT_MS: PositiveInteger(5_000, 100),
});

export type Environment = Static<typeof Environment>;
