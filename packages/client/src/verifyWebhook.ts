import type { WebhookEvent } from './types.ts';

const DEFAULT_TOLERANCE_SECONDS = 300;
const SECRET_PREFIX = 'whsec_';
const PUBLIC_KEY_PREFIX = 'whpk_';
const KEY_BYTES_MIN = 16;
/** Signatures that are verified at most. The service sends two, or four after a rotation. */
const SIGNATURES_MAX = 16;

/** Headers of a request, in the forms that servers use. */
export type WebhookHeaders = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

export interface VerifyWebhookOptions {
  /** Accepted difference between `webhook-timestamp` and now. Default: 300. */
  toleranceSeconds?: number | undefined;
}

/** The message was not sent by the service, was changed, or is too old. Respond with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/**
 * Verifies a webhook message (Standard Webhooks 1.0.0) and returns its event. `WebhookEvent` may be extended: ignore
 * types that you do not know, and ids (`webhook-id`) that you have processed.
 * @param payload the body of the request, unchanged: verify before a framework parses it.
 * @param key secret (`whsec_...`, verifies `v1`) or public key (`whpk_...`, verifies `v1a`), or several of them.
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  key: string | readonly string[],
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS }: VerifyWebhookOptions = {},
): Promise<WebhookEvent> {
  const keys = [key].flat();
  if (keys.length === 0) throw new TypeError('At least one secret or public key is needed.');
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature').split(' ').slice(0, SIGNATURES_MAX);
  requireRecent(timestamp, toleranceSeconds);
  const body = typeof payload === 'string' ? new TextEncoder().encode(payload) : new Uint8Array(payload);
  const content = concatenate(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  for (const one of keys) {
    if (await isSignedBy(one, content, signatures)) return parseEvent(body);
  }
  throw new WebhookVerificationError('No signature of the message matches.');
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value =
    typeof headers.get === 'function'
      ? (headers as { get(name: string): string | null }).get(name)
      : (headers as Record<string, string | string[] | undefined>)[name];
  const text = Array.isArray(value) ? value.join(' ') : value;
  if (text == null || text === '') throw new WebhookVerificationError(`The header ${name} is missing.`);
  return text;
}

function requireRecent(timestamp: string, toleranceSeconds: number): void {
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  if (Number.isNaN(seconds)) throw new WebhookVerificationError('The header webhook-timestamp is not a time.');
  if (Math.abs(Date.now() / 1_000 - seconds) > toleranceSeconds) {
    throw new WebhookVerificationError('The message is too old, or the clock of this machine is wrong.');
  }
}

/** Compares in constant time: `verify` of WebCrypto does, for both algorithms. */
async function isSignedBy(key: string, content: Uint8Array<ArrayBuffer>, signatures: string[]): Promise<boolean> {
  const isPublic = key.startsWith(PUBLIC_KEY_PREFIX);
  const bytes = parseKey(key, isPublic ? PUBLIC_KEY_PREFIX : SECRET_PREFIX);
  const algorithm = isPublic ? { name: 'Ed25519' } : { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
  const version = isPublic ? 'v1a,' : 'v1,';
  for (const signature of signatures.filter((one) => one.startsWith(version))) {
    const sent = decodeBase64(signature.slice(version.length));
    if (sent !== undefined && (await crypto.subtle.verify(algorithm.name, imported, sent, content))) return true;
  }
  return false;
}

/** Returns the bytes of a key; a mistake in it is one of the program, not of the sender. */
function parseKey(key: string, prefix: string): Uint8Array<ArrayBuffer> {
  const bytes = key.startsWith(prefix) ? decodeBase64(key.slice(prefix.length)) : undefined;
  if (bytes !== undefined && bytes.length >= KEY_BYTES_MIN) return bytes;
  throw new TypeError('A key must be a secret (whsec_...) or a public key (whpk_...) of the endpoint.');
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenate(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head.length + tail.length);
  bytes.set(head);
  bytes.set(tail, head.length);
  return bytes;
}

function parseEvent(body: Uint8Array): WebhookEvent {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError('The body is signed, but is not JSON.');
  }
}
