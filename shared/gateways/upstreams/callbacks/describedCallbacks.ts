import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { now } from '../../../lib/clock.ts';
import type { ProtocolCallback } from '../described/protocol.ts';
import { readText } from '../described/responseValues.ts';
import { type CallbackProtocol, replicateCallbacks } from './callbackProtocols.ts';

/** Call-backs of an upstream whose protocol is data. */
export function describedCallbacks(callback: ProtocolCallback): CallbackProtocol {
  const readId = (body: unknown) => readText({ status: 200, headers: {}, body }, callback.id);
  switch (callback.signature) {
    case 'standard_webhooks':
      return { ...replicateCallbacks, readId };
    case 'hmac':
      return { ...hmacCallbacks(callback), readId };
    case 'none':
      // Only the address authorizes it. It leads to one poll in two seconds.
      return { readTimestamp: getSeconds, verify: () => true, readId };
  }
}

/** Call-backs with an HMAC of the body. It has no time: one that is repeated causes a poll. */
function hmacCallbacks({ header = '', encoding = 'hex', prefix = '' }: ProtocolCallback) {
  const read = (headers: IncomingHttpHeaders): Buffer | undefined => {
    const text = [headers[header] ?? ''].flat().join();
    const signature = text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), encoding) : undefined;
    return signature?.length === SIGNATURE_BYTES ? signature : undefined;
  };
  return {
    readTimestamp: (headers) => (read(headers) === undefined ? undefined : getSeconds()),
    verify: ({ headers, body }, keys) => {
      const signature = read(headers);
      return (
        signature !== undefined &&
        keys.some((key) => timingSafeEqual(signature, createHmac('sha256', key).update(body).digest()))
      );
    },
  } satisfies Omit<CallbackProtocol, 'readId'>;
}

const SIGNATURE_BYTES = 32;

const getSeconds = () => now().getTime() / 1_000;
