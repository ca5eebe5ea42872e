import { createHash, createHmac, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import pRetry from 'p-retry';
import type { Job } from './jobStore.ts';
import { buildFalCallback } from './protocols/fal.ts';
import type { CallbackContext, CallbackKeys } from './protocols/protocol.ts';
import { buildPrediction, REPLICATE_NAMESPACE } from './protocols/replicate.ts';

/** Call-backs of the sample upstream, signed as fal and Replicate sign theirs. */

/** A call-back, ready to be sent. */
export interface Callback {
  url: string;
  headers: Record<string, string>;
  body: string;
}

export function createCallbackKeys(): CallbackKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = { ...publicKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'EdDSA', use: 'sig' };
  return { keySet: { keys: [key] }, privateKey, secret: `whsec_${randomBytes(24).toString('base64')}` };
}

/** Builds the call-back of a job that has ended; null if none was asked for. */
export function buildCallback(job: Job, context: CallbackContext, at = new Date()): Callback | null {
  if (job.callbackUrl === undefined) return null;
  const isReplicate = job.namespace === REPLICATE_NAMESPACE;
  const body = JSON.stringify(isReplicate ? buildPrediction(job, context) : buildFalCallback(job, context));
  const signHeaders = isReplicate ? signStandardWebhook : signFalWebhook;
  const headers = { 'content-type': 'application/json', ...signHeaders(context.callbackKeys, job.id, body, at) };
  return { url: job.callbackUrl, headers, body };
}

/** Signs as fal does: request, user, time and the hash of the body. */
function signFalWebhook({ privateKey }: CallbackKeys, requestId: string, body: string, at: Date) {
  const timestamp = toSeconds(at);
  const hash = createHash('sha256').update(body).digest('hex');
  const message = Buffer.from([requestId, USER_ID, timestamp, hash].join('\n'));
  return {
    'x-fal-webhook-request-id': requestId,
    'x-fal-webhook-user-id': USER_ID,
    'x-fal-webhook-timestamp': timestamp,
    'x-fal-webhook-signature': sign(null, message, privateKey).toString('hex'),
  };
}

const USER_ID = 'sample-user';

/** Signs as Replicate does: Standard Webhooks. */
function signStandardWebhook({ secret }: CallbackKeys, jobId: string, body: string, at: Date) {
  const id = `msg_${jobId}`;
  const timestamp = toSeconds(at);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

function toSeconds(at: Date): string {
  return String(Math.floor(at.getTime() / 1_000));
}

const TIMEOUT_MS = 5_000;

/** Sends a call-back, up to three times: again after 1 and 4 s. Never rejects. */
export async function sendCallback({ url, headers, body }: Callback): Promise<void> {
  const send = async () => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { ok, status } = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    if (!ok) throw new Error(`The call-back was answered with ${status}.`);
  };
  await pRetry(send, { retries: 2, factor: 4, unref: true }).catch(() => {});
}

/** Returns true for an address of this machine: the sample upstream sends requests nowhere else. */
export function isLocalCallback(url: string): boolean {
  return /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?\//.test(url);
}
