import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { CallbackProtocol } from './callbackProtocol.ts';

/** A header lists a signature for each secret that is valid during a rotation. */
const SIGNATURES_MAX = 8;
const SIGNATURE_BYTES = 32;
const SECRET_MIN_BYTES = 16;

/** Call-backs of Replicate: Standard Webhooks, with the secret of the account. */
export const replicateCallbacks: CallbackProtocol = {
  idField: 'id',
  readTimestamp: (headers) => {
    const { id, timestamp, signatures } = readHeaders(headers);
    return id !== '' && signatures.length > 0 && /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : undefined;
  },
  verify: ({ headers, body }, keys) => {
    const { id, timestamp, signatures } = readHeaders(headers);
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

function readHeaders(headers: IncomingHttpHeaders) {
  const read = (name: string) => String(headers[`webhook-${name}`] ?? '');
  const signatures = read('signature')
    .split(' ', SIGNATURES_MAX)
    .filter((entry) => entry.startsWith('v1,'))
    .map((entry) => Buffer.from(entry.slice('v1,'.length), 'base64'))
    .filter(({ length }) => length === SIGNATURE_BYTES);
  return { id: read('id'), timestamp: read('timestamp'), signatures };
}
