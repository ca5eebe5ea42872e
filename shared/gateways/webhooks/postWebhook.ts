import { isIP } from 'node:net';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { isPrivateAddress, resolvePublicAddress } from '../../lib/ssrfGuard.ts';
import { WEBHOOK_ATTEMPT_TIMEOUT_MS } from '../../spec/webhookDelivery.ts';
import { type HttpResponse, sendRequest } from '../httpClient.ts';
import { createWebhookConnections, type WebhookConnections } from './connections.ts';
import { describeFailure } from './describeFailure.ts';
import { parseRetryAfterMs } from './retryAfter.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';

/** A message as one attempt sends it. */
export interface WebhookRequest {
  url: string;
  /** `webhook-id`, `webhook-timestamp` and `webhook-signature`. */
  headers: Record<string, string>;
  body: string;
}

/** The result of an attempt. It succeeded if there is no error. */
export interface AttemptResult {
  /** Status of the response; null if there was none. */
  status: number | null;
  /** Wait that the receiver asks for. */
  retryAfterMs?: number;
  /** Reason of the failure, in a few words. */
  error?: string;
}

/** Part of a response that is read, so that its connection can be used again, and the time for it. */
const RESPONSE_MAX_BYTES = 4 * 1024;
const RESPONSE_BODY_TIMEOUT_MS = 1_000;

const connections = perService(
  () => createWebhookConnections(config.WEBHOOK_ADDRESSES === 'any' ? undefined : resolvePublicAddress),
  ({ agent }) => agent.destroy(),
);

/**
 * Sends a message once, within 15 seconds. Redirects are not followed, and private addresses are rejected when the
 * connection is made, so that a name cannot be pointed elsewhere after the endpoint was created. Never rejects.
 * @param abort ends the attempt early when the caller aborts it.
 */
export async function postWebhook(
  message: WebhookRequest,
  abort = new AbortController(),
  { through = connections() }: { through?: WebhookConnections } = {},
): Promise<AttemptResult> {
  const problem = findAddressProblem(message.url);
  if (problem !== undefined) return { status: null, error: problem };
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    abort.abort();
  }, WEBHOOK_ATTEMPT_TIMEOUT_MS);
  through.requests += 1;
  try {
    const response = await sendRequest(message.url, {
      dispatcher: through.agent,
      method: 'POST',
      headers: {
        ...message.headers,
        'content-type': 'application/json',
        accept: '*/*',
      },
      body: message.body,
      signal: abort.signal,
      reset: through.isFull,
    });
    clearTimeout(timer);
    await discardBody(response.body, abort);
    return toResult(response);
  } catch (error) {
    return { status: null, error: hasTimedOut ? 'timeout' : abort.signal.aborted ? 'aborted' : describeFailure(error) };
  } finally {
    clearTimeout(timer);
    through.requests -= 1;
  }
}

/** Names are checked when they are resolved. An address is not resolved, so it is checked here. */
function findAddressProblem(address: string): string | undefined {
  if (!canParseUrl(address)) return 'invalid address';
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'https:' && (protocol !== 'http:' || config.NODE_ENV === 'production')) return 'not https';
  const host = hostname.replace(/^\[|\]$/g, '');
  const isPrivate = config.WEBHOOK_ADDRESSES !== 'any' && isIP(host) !== 0 && isPrivateAddress(host);
  return isPrivate ? 'private address' : undefined;
}

/** Reads the rest of a response. A long or slow one is dropped with its connection: its status is known. */
async function discardBody(body: HttpResponse['body'], abort: AbortController): Promise<void> {
  const timer = setTimeout(() => abort.abort(), RESPONSE_BODY_TIMEOUT_MS);
  try {
    await body.dump({ limit: RESPONSE_MAX_BYTES, signal: abort.signal });
  } catch {
    // Aborted, or broken by the receiver.
  } finally {
    clearTimeout(timer);
  }
}

function toResult({ statusCode: status, headers }: HttpResponse): AttemptResult {
  if (status >= 200 && status < 300) return { status };
  const retryAfterMs = parseRetryAfterMs(headers['retry-after']);
  return {
    status,
    error: status >= 300 && status < 400 ? 'redirect' : `status ${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
