import { isDeepStrictEqual } from 'node:util';
import { getCatalog } from '../../lib/catalog/catalog.ts';
import { now } from '../../lib/clock.ts';
import { INSTANT_FORM, parseInstant } from '../../lib/instant.ts';
import { listBriefly } from '../../lib/listBriefly.ts';
import { parseIpRange } from '../../lib/ipRanges.ts';
import { ServiceError } from '../../spec/errors.ts';
import { ALL_KEY_SCOPES, type KeyScope } from '../../spec/oauth.ts';
import type { ApiKey } from '../../tables/ApiKey.ts';

/** Options of an API key in a request. Null: without the option. Undefined: not in the request. */
export interface KeyOptionsInput {
  scopes?: readonly KeyScope[] | null;
  /** A date, or a time with its zone. */
  expires_at?: string | null;
  allowed_models?: readonly string[] | null;
  /** Addresses, or ranges in CIDR notation. */
  allowed_ips?: readonly string[] | null;
}

/** Options of an API key as they are stored. */
export type KeyOptions = Pick<ApiKey, 'scopes' | 'expires_at' | 'allowed_models' | 'allowed_ips'>;

export const NO_KEY_OPTIONS: KeyOptions = { scopes: null, expires_at: null, allowed_models: null, allowed_ips: null };

/**
 * Parses the options of a request.
 * @param stored options of the key until now. Those that the request does not contain are not part of the result.
 * @throws ServiceError validation_error
 */
export function parseKeyOptions(input: KeyOptionsInput, stored = NO_KEY_OPTIONS): Partial<KeyOptions> {
  const { scopes, expires_at: expiresAt, allowed_models: models, allowed_ips: ips } = input;
  return {
    ...(scopes === undefined ? {} : { scopes: scopes && ALL_KEY_SCOPES.filter((scope) => scopes.includes(scope)) }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt === null ? null : parseExpiry(expiresAt) }),
    ...(models === undefined ? {} : { allowed_models: models && parseModels(models, stored.allowed_models ?? []) }),
    ...(ips === undefined ? {} : { allowed_ips: ips && parseRanges(ips) }),
  };
}

/** Lists the names of the options that differ from those of a key. */
export function listChangedOptions(stored: KeyOptions, options: Partial<KeyOptions>): string[] {
  const names = Object.keys(options) as (keyof KeyOptions)[];
  return names.filter((name) => !isDeepStrictEqual(stored[name], options[name]));
}

function parseExpiry(text: string): Date {
  const expiresAt = parseInstant(text);
  if (expiresAt === null) throw invalidOptionError('expires_at', ` must be ${INSTANT_FORM}.`);
  if (expiresAt <= now()) throw invalidOptionError('expires_at', ' must be in the future.');
  return expiresAt;
}

/** @param kept models that the key has. They may have been removed from the catalog. */
function parseModels(slugs: readonly string[], kept: readonly string[]): string[] {
  const { models, modelsBySlug } = getCatalog();
  const unknown = slugs.find((slug) => !modelsBySlug.has(slug) && !kept.includes(slug));
  if (unknown !== undefined) {
    const listed = models.flatMap(({ slug, hidden }) => (hidden ? [] : [slug]));
    throw invalidOptionError(
      'allowed_models',
      `: ${quote(unknown)} is not a model. The models are: ${listBriefly(listed)}.`,
    );
  }
  return [...new Set(slugs)];
}

function parseRanges(texts: readonly string[]): string[] {
  const ranges = texts.map((text) => {
    const parsed = parseIpRange(text);
    if ('range' in parsed) return parsed.range;
    throw invalidOptionError('allowed_ips', `: ${quote(text)} ${parsed.problem}.`);
  });
  return [...new Set(ranges)];
}

/** Quotes a value of a request in a form that an error detail can repeat. */
function quote(text: string): string {
  return `“${text.slice(0, 64).toWellFormed().replaceAll('\u0000', '\uFFFD')}”`;
}

function invalidOptionError(field: string, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field}${problem}`, { field });
}
