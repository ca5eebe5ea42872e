import { Ajv2020 } from 'ajv/dist/2020.js';
import Type, { type Static } from 'typebox';

const Port = (fallback: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: fallback });
const Count = (fallback: number, minimum = 1) => Type.Integer({ minimum, maximum: 1_000_000, default: fallback });
const HttpUrl = (options: Record<string, unknown> = {}) =>
  Type.String({ pattern: '^https?://[^\\s]+$', description: 'an address such as https://example.com', ...options });
const Switch = (fallback: 'on' | 'off') => Type.Enum(['on', 'off'], { default: fallback });

/** Every environment variable that the service reads, with its default. This is the only place that reads them. */
const Environment = Type.Object({
  NODE_ENV: Type.Enum(['development', 'test', 'production'], { default: 'development' }),
  LOG_LEVEL: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], { default: 'info' }),

  PORT: Port(3000),
  HOST: Type.String({ default: '0.0.0.0', minLength: 1 }),
  BASE_URL: Type.Optional(HttpUrl()),
  CDN_URL: Type.Optional(HttpUrl()),
  /** How many proxies of ours stand in front and add to X-Forwarded-For. */
  TRUSTED_PROXIES: Type.Integer({ minimum: 0, maximum: 10, default: 0 }),

  DATABASE_URL: Type.String({
    pattern: '^postgres(ql)?://',
    description: 'an address such as postgres://user@host/name',
  }),
  DATABASE_POOL_MAX: Count(10, 2),
  DATABASE_TIMEOUT_MS: Count(1_500, 100),
  REDIS_URL: Type.String({ pattern: '^rediss?://', description: 'an address such as redis://host:6379' }),
  REDIS_PREFIX: Type.String({ pattern: '^[A-Za-z0-9_.-]+$', default: 'genmeter' }),

  MEDIA_DIR: Type.String({ default: '.data/media', minLength: 1 }),
  MEDIA_MAX_BYTES: Type.Integer({ minimum: 1_000, default: 512 * 1024 * 1024 }),
  MEDIA_FFMPEG_PATH: Type.Optional(Type.String({ minLength: 1 })),

  FAL_BASE_URL: HttpUrl({ default: 'https://queue.fal.run' }),
  FAL_KEY: Type.String({ minLength: 1, default: 'none' }),
  FAL_VIDEO_MODEL: Type.String({ minLength: 1, default: 'fal-ai/bytedance/seedance/v1.5/pro/text-to-video' }),
  FAL_IMAGE_MODEL: Type.String({ minLength: 1, default: 'fal-ai/nano-banana-2' }),
  UPSTREAM_TIMEOUT_MS: Count(6_000, 100),
  UPSTREAM_CONCURRENCY: Count(64),

  WORKER_CONCURRENCY: Count(16),
  SWEEP_INTERVAL_MS: Count(2_000, 100),

  RATE_LIMITS: Switch('on'),
  RATE_CREATES_PER_MINUTE: Count(60),
  RATE_REQUESTS_PER_MINUTE: Count(600),
  RATE_PUBLIC_PER_MINUTE: Count(120),

  STRIPE_SECRET_KEY: Type.Optional(Type.String()),
});

type Environment = Static<typeof Environment>;

export interface Config extends Environment {
  /** Where the service is reached from outside, without a slash at the end. */
  BASE_URL: string;
  /** What stands before the path of every output, without a slash at the end. */
  CDN_URL: string;
}

/** A configuration that cannot be run with. Its message names the variable and says what to set. */
export class ConfigError extends Error {}

const validate = new Ajv2020({ coerceTypes: true, useDefaults: true, allErrors: true }).compile<Environment>(
  Environment,
);

/**
 * Reads the configuration from environment variables; an empty one counts as unset.
 * @throws ConfigError
 */
export function parseConfig(env: Record<string, string | undefined>): Readonly<Config> {
  const values = Object.fromEntries(
    Object.keys(Environment.properties)
      .map((name) => [name, env[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  ) as unknown;
  if (!validate(values))
    throw new ConfigError(validate.errors?.map(describe).join(' ') ?? 'The configuration is unusable.');
  if (values.STRIPE_SECRET_KEY !== undefined) {
    throw new ConfigError('STRIPE_SECRET_KEY cannot be used yet: this version takes no payments. Unset it.');
  }
  if (values.NODE_ENV === 'production') {
    throw new ConfigError(
      'NODE_ENV=production is refused: this version takes no payments, so that plans would be given away.',
    );
  }
  for (const name of ['BASE_URL', 'CDN_URL', 'FAL_BASE_URL'] as const) {
    if (values[name] !== undefined && !URL.canParse(values[name]))
      throw new ConfigError(`${name} must be an address such as https://example.com.`);
  }
  const baseUrl = (values.BASE_URL ?? `http://localhost:${values.PORT}`).replace(/\/+$/, '');
  return Object.freeze({
    ...values,
    BASE_URL: baseUrl,
    CDN_URL: (values.CDN_URL ?? `${baseUrl}/media`).replace(/\/+$/, ''),
  });
}

function describe(error: { instancePath: string; keyword: string; message?: string; params: Record<string, unknown> }) {
  if (error.keyword === 'required') {
    const name = String(error.params['missingProperty']);
    return `${name} is not set: it must be ${expected(name)}.`;
  }
  const name = error.instancePath.slice(1);
  if (error.keyword === 'enum')
    return `${name} must be one of ${(error.params['allowedValues'] as string[]).join(', ')}.`;
  return `${name} must be ${expected(name)}.`;
}

interface Described {
  description?: string;
  minimum?: number;
  maximum?: number;
}

function expected(name: string): string {
  const { description, minimum, maximum } = (Environment.properties as Record<string, Described>)[name] ?? {};
  if (description !== undefined) return description;
  if (minimum === undefined) return 'a text that is not empty';
  return maximum === undefined ? `a whole number from ${minimum}` : `a whole number from ${minimum} to ${maximum}`;
}

function loadConfig(): Readonly<Config> {
  try {
    return parseConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(78);
  }
}

/** The configuration of this process. A process that lacks some of it ends here, with a sentence on stderr. */
export const config = loadConfig();
