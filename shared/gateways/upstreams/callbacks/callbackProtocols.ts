import { createHash, createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { getField } from '../responses.ts';

/** Keys with which an upstream signs: public keys, or secrets. */
export type VerificationKeys = readonly (KeyObject | Buffer)[];

/** A received call-back. Header names are in lower case. */
export interface CallbackRequest {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The parts of a protocol that concern call-backs. */
export interface CallbackProtocol {
  /** Returns the time of the signature in seconds; undefined if a header is missing or malformed. */
  readTimestamp(headers: IncomingHttpHeaders): number | undefined;
  /** Returns true if the signature is that of one of the keys. */
  verify(request: CallbackRequest, keys: VerificationKeys): boolean;
  /** Returns the id of the job, which its handle has in `request_id` or `id`. */
  readId(body: unknown): unknown;
}

/** Call-backs of fal's queue: an Ed25519 signature of request, user, time and the hash of the body. */
export const falCallbacks: CallbackProtocol = {
  readId: (body) => getField(body, 'request_id'),
  readTimestamp: (headers) => {
    const { requestId, userId, timestamp, signature } = readFalHeaders(headers);
    const isComplete = requestId !== '' && userId !== '' && /^[0-9a-f]{128}$/i.test(signature);
    return isComplete && /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : undefined;
  },
  verify: ({ headers, body }, keys) => {
    const { requestId, userId, timestamp, signature } = readFalHeaders(headers);
    const hash = createHash('sha256').update(body).digest('hex');
    const message = Buffer.from([requestId, userId, timestamp, hash].join('\n'));
    return keys.some((key) => verify(null, message, key, Buffer.from(signature, 'hex')));
  },
};

function readFalHeaders(headers: IncomingHttpHeaders) {
  const read = (name: string) => String(headers[`x-fal-webhook-${name}`] ?? '');
  return {
    requestId: read('request-id'),
    userId: read('user-id'),
    timestamp: read('timestamp'),
    signature: read('signature'),
  };
}

/** A header lists a signature for each secret that is valid during a rotation. */
const SIGNATURES_MAX = 8;
const SIGNATURE_BYTES = 32;
const SECRET_MIN_BYTES = 16;

/** Call-backs of Replicate: Standard Webhooks, with the secret of the account. */
export const replicateCallbacks: CallbackProtocol = {
  readId: (body) => getField(body, 'id'),
  readTimestamp: (headers) => {
    const { id, timestamp, signatures } = readReplicateHeaders(headers);
    return id !== '' && signatures.length > 0 && /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : undefined;
  },
  verify: ({ headers, body }, keys) => {
    const { id, timestamp, signatures } = readReplicateHeaders(headers);
    return keys.some((key) => {
      const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
      return signatures.some((signature) => timingSafeEqual(signature, expected));
    });
  },
};

/** Parses a secret of Standard Webhooks: `whsec_` and the key in base64. Undefined for other values. */
export function parseSecret(secret: unknown): Buffer | undefined {
  if (typeof secret !== 'string') return undefined;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return key.length < SECRET_MIN_BYTES ? undefined : key;
}

function readReplicateHeaders(headers: IncomingHttpHeaders) {
  const read = (name: string) => String(headers[`webhook-${name}`] ?? '');
  const signatures = read('signature')
    .split(' ', SIGNATURES_MAX)
    .filter((entry) => entry.startsWith('v1,'))
    .map((entry) => Buffer.from(entry.slice('v1,'.length), 'base64'))
    .filter(({ length }) => length === SIGNATURE_BYTES);
  return { id: read('id'), timestamp: read('timestamp'), signatures };
}
