import { hashApiKey } from '../../shared/domain/accounts/credentials.ts';
import type { KeyCredential } from '../../shared/domain/accounts/caller.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';

export const KEY_FORMAT_DETAIL = 'An API key is "svc_" followed by 40 hex characters.';

/**
 * Reads the API key or the access token in the `Authorization` and `X-API-Key` headers. Either may carry it, or both
 * the same; undefined if neither does.
 * @throws ServiceError invalid_api_key
 */
export function readHeaderCredential(ctx: Context): KeyCredential | { kind: 'token'; token: string } | undefined {
  const authorization = ctx.get('authorization');
  const apiKey = ctx.get('x-api-key');
  if (authorization === '') return apiKey === '' ? undefined : parseKey(apiKey, ctx.ip);
  const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (bearer === undefined) throw invalidApiKeyError('Write the header as "Authorization: Bearer svc_…".');
  if (apiKey !== '' && apiKey !== bearer)
    throw invalidApiKeyError('The Authorization and X-API-Key headers carry different keys: send one of them.');
  return bearer.startsWith('svc_') ? parseKey(bearer, ctx.ip) : { kind: 'token', token: bearer };
}

function parseKey(key: string, address: string): KeyCredential {
  const hash = hashApiKey(key);
  if (hash === null) throw invalidApiKeyError(KEY_FORMAT_DETAIL);
  return { kind: 'key', hash, address };
}

/** Error for a request without a valid credential. */
export function invalidApiKeyError(detail: string): ServiceError {
  return new ServiceError('invalid_api_key', detail);
}
