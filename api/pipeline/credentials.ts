import type { Context } from '../context.ts';

/** Credential in the headers of a request. `conflict`: the two headers contain different ones. */
export type HeaderCredential =
  | { kind: 'none' | 'malformed' | 'conflict' }
  | { kind: 'bearer' | 'apiKeyHeader'; value: string };

/** Parses the `Authorization` and `X-API-Key` headers. Either may carry the credential, or both the same. */
export function readHeaderCredential(ctx: Context): HeaderCredential {
  const authorization = ctx.get('authorization');
  const apiKey = ctx.get('x-api-key');
  if (authorization === '') return apiKey === '' ? { kind: 'none' } : { kind: 'apiKeyHeader', value: apiKey };
  const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (bearer === undefined) return { kind: 'malformed' };
  return apiKey !== '' && apiKey !== bearer ? { kind: 'conflict' } : { kind: 'bearer', value: bearer };
}
