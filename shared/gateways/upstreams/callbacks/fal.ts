import { createHash, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { CallbackProtocol } from './callbackProtocol.ts';

/** Call-backs of fal's queue: an Ed25519 signature of request, user, time and the hash of the body. */
export const falCallbacks: CallbackProtocol = {
  idField: 'request_id',
  readTimestamp: (headers) => {
    const { requestId, userId, timestamp, signature } = readHeaders(headers);
    const isComplete = requestId !== '' && userId !== '' && /^[0-9a-f]{128}$/i.test(signature);
    return isComplete && /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : undefined;
  },
  verify: ({ headers, body }, keys) => {
    const { requestId, userId, timestamp, signature } = readHeaders(headers);
    const hash = createHash('sha256').update(body).digest('hex');
    const message = Buffer.from([requestId, userId, timestamp, hash].join('\n'));
    return keys.some((key) => verify(null, message, key, Buffer.from(signature, 'hex')));
  },
};

function readHeaders(headers: IncomingHttpHeaders) {
  const read = (name: string) => String(headers[`x-fal-webhook-${name}`] ?? '');
  return {
    requestId: read('request-id'),
    userId: read('user-id'),
    timestamp: read('timestamp'),
    signature: read('signature'),
  };
}
