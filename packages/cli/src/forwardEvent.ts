import { createHmac } from 'node:crypto';
import type { Generation } from '@genmeter/client';

/** The service gives a receiver the same time. */
const RESPONSE_TIMEOUT_MS = 15_000;

/** Outcome of a message. */
export interface ForwardResult {
  type: string;
  uuid: string;
  /** HTTP status of the response; null without one. */
  status: number | null;
  error: string | null;
}

/**
 * Sends the end of a generation to a receiver once, as a message in the form of a webhook. It is signed with a local
 * secret, and its id is that of the generation: the keys and events of the account cannot be read by API key.
 */
export async function forwardEvent(
  generation: Generation,
  target: URL,
  secret: string,
  signal: AbortSignal,
): Promise<ForwardResult> {
  const { uuid, status } = generation;
  const type = `generation.${status}`;
  const body = JSON.stringify({ type, timestamp: generation.completed_at, data: generation });
  const id = `msg_local_${uuid}`;
  const timestamp = Math.floor(Date.now() / 1_000);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage(secret, `${id}.${timestamp}.${body}`),
  };
  const ended = AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]);
  try {
    const response = await fetch(target, { method: 'POST', headers, body, redirect: 'manual', signal: ended });
    await response.body?.cancel();
    return { type, uuid, status: response.status, error: null };
  } catch (error) {
    signal.throwIfAborted();
    const { message, cause } = error as Error & { cause?: Error };
    return { type, uuid, status: null, error: cause?.message || message };
  }
}

/** Signature `v1` of Standard Webhooks. */
function signMessage(secret: string, content: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}
