import { requireBoundedJson } from '../../lib/boundedJson.ts';
import { config } from '../../lib/config.ts';
import { readBounded } from '../httpClient.ts';

/** Upper limit for responses of sign-in providers. */
const RESPONSE_MAX_BYTES = 1024 * 1024;
const NULL_BODY_STATUSES = new Set([101, 204, 205, 304]);

/** Requests JSON of a provider. Limits the time, the size and the content of the response; follows no redirects. */
export async function fetchBounded(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, {
    ...options,
    redirect: 'manual',
    signal: AbortSignal.timeout(config.SIGN_IN_TIMEOUT_MS),
  });
  const { status, headers } = response;
  const body = await readBounded((response.body ?? []) as AsyncIterable<Uint8Array>, RESPONSE_MAX_BYTES);
  requireBoundedJson(body.toString());
  return new Response(NULL_BODY_STATUSES.has(status) ? null : body, { status, headers });
}
