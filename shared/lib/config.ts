import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { CROSS_CHECKS } from './configChecks.ts';
import { Environment } from './configVariables.ts';
import type { PriceVariable } from '../spec/plans.ts';
import { unescapeLineBreaks } from './signInSettings.ts';
import { describeExpected } from './validation/describeExpected.ts';

/**
 * Kind of a process, which decides the variables that it reads. `service` (API and worker) reads all of them. `admin`
 * and `check` are commands for staff: they submit and charge nothing, and read neither keys nor providers nor
 * addresses. `trial` is the command that tries an upstream.
 */
export type ProcessKind = 'service' | 'admin' | 'check' | 'trial';

export interface Config extends Environment {
  /** Stripe prices of the plans of CATALOG, whose slugs are part of the name. */
  [name: PriceVariable]: string | undefined;
  HOST: string;
  /** Public address of the service, without a trailing slash. */
  BASE_URL: string;
  /** Base address of all outputs, without a trailing slash. */
  CDN_URL: string;
  BILLING_RETURN_URL: string;
}

/** Invalid configuration. The message names the variable and says what to set. */
export class ConfigError extends Error {}

const ajv = new Ajv2020({ coerceTypes: true, useDefaults: true, allErrors: true, validateSchema: false });
const validate = ajv.compile<Environment>(Environment);

/** Variables that commands read. All others keep their defaults and are not required. */
const COMMAND_VARIABLES = [
  'DATABASE_URL',
  'DATABASE_POOL_MAX',
  'DATABASE_TIMEOUT_MS',
  'REDIS_URL',
  'REDIS_TLS',
  'REDIS_PREFIX',
  'LOG_LEVEL',
  'CATALOG',
] as const satisfies (keyof Environment)[];

/** Variables that runs at an upstream follow from. */
const UPSTREAM_VARIABLES = [
  'VIDEO_UPSTREAM',
  'VIDEO_UPSTREAM_FALLBACK',
  'IMAGE_UPSTREAM',
  'IMAGE_UPSTREAM_FALLBACK',
  'FAL_BASE_URL',
  'FAL_KEY',
  'OPENAI_BASE_URL',
  'OPENAI_API_KEY',
  'REPLICATE_BASE_URL',
  'REPLICATE_API_TOKEN',
  'UPSTREAMS',
  'UPSTREAM_TIMEOUT_MS',
  'UPSTREAM_SYNC_TIMEOUT_MS',
  'SECRET_KEY',
  'MEDIA_DIR',
  'MEDIA_MAX_BYTES',
] as const satisfies (keyof Environment)[];

/** Variables that each kind of process reads, and placeholders for required ones that it never uses. */
const VARIABLES_BY_KIND: Record<ProcessKind, { names: readonly string[]; unused: Record<string, string> }> = {
  service: { names: Object.keys(Environment.properties), unused: {} },
  // Commands do not suspend staff, nor grant what needs two people.
  admin: {
    names: [...COMMAND_VARIABLES, 'STAFF_EMAILS', 'STAFF_APPROVAL_CREDITS', 'SMTP_URL', 'MAIL_FROM'],
    unused: {},
  },
  trial: { names: [...COMMAND_VARIABLES, ...UPSTREAM_VARIABLES], unused: {} },
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
    ...(kind === 'service' ? readPriceVariables(env) : {}),
    ...values,
    HOST: values.HOST ?? (values.NODE_ENV === 'production' ? '0.0.0.0' : '127.0.0.1'),
    BASE_URL: baseUrl,
    CDN_URL: (values.CDN_URL ?? `${baseUrl}/media`).replace(/\/+$/, ''),
    APPLE_PRIVATE_KEY: values.APPLE_PRIVATE_KEY && unescapeLineBreaks(values.APPLE_PRIVATE_KEY),
    BILLING_RETURN_URL: values.BILLING_RETURN_URL ?? `${baseUrl}/account/`,
    UPSTREAMS: readJsonVariable('UPSTREAMS', values.UPSTREAMS, env),
    CATALOG: values.CATALOG && readJsonVariable('CATALOG', values.CATALOG, env),
  });
}

/** Returns the variables with prices. The plans that need them are known once the catalog is parsed. */
function readPriceVariables(env: Record<string, string | undefined>): Record<PriceVariable, string> {
  const entries = Object.entries(env).map(([name, value]) => [name, value?.trim() ?? '']);
  return Object.fromEntries(
    entries.filter(([name = '', value]) => name.startsWith('STRIPE_PRICE_') && value !== ''),
  ) as Record<PriceVariable, string>;
}

/** Returns a variable that contains JSON, or the content of the file that it names, with its variables replaced. */
export function readJsonVariable(name: string, value: string, env: Record<string, string | undefined>): string {
  return expandEnv(name, value.startsWith('{') ? value : readJsonFile(name, value), env);
}

function readJsonFile(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(
      // The value is not repeated: it may be quoted JSON that contains keys.
      `${variable} must be JSON or the name of a file that can be read (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
}

/** Names of environment variables with secrets, ours and those that operators choose. */
const SECRET_NAME = /(?:^|_)(?:API_?KEY|KEY|SECRET|TOKEN|PASSWORD)(?:_|$)|^(?:DATABASE|REDIS|SMTP)_URL$/i;

/** Replaces `${NAME}` inside JSON strings with environment variables, so that the file need not contain secrets. */
function expandEnv(variable: string, json: string, env: Record<string, string | undefined>): string {
  return json.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    if (variable === 'CATALOG' && SECRET_NAME.test(name)) {
      throw new ConfigError(
        `CATALOG must not refer to ${name}: the release step stores it in the database, and customers see parts of it.`,
      );
    }
    const value = env[name]?.trim();
    if (value === undefined || value === '') throw new ConfigError(`${name} is not set, but ${variable} refers to it.`);
    return JSON.stringify(value).slice(1, -1);
  });
}

function describeSchemaError({ instancePath, keyword, params }: ErrorObject): string {
  const isMissing = keyword === 'required';
  const name = isMissing ? String(params['missingProperty']) : instancePath.slice(1);
  const expected = describeExpected((Environment.properties as Record<string, object>)[name]);
  return isMissing ? `${name} is not set: it must be ${expected}.` : `${name} must be ${expected}.`;
}

/** The configuration of the open service. Undefined until {@link setConfig} was called. */
export let config: Readonly<Config>;

/** Sets the configuration of the open service. */
export function setConfig(next: Readonly<Config>): void {
  config = next;
}
