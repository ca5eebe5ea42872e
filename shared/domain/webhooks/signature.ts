import { createHmac, sign } from 'node:crypto';
import type { SigningKey } from './signingKeys.ts';

/** A message of Standard Webhooks, as one attempt sends it. */
export interface WebhookMessage {
  /** `webhook-id`: the same in every attempt. */
  id: string;
  /** `webhook-timestamp`: the time of the attempt, in seconds. */
  timestamp: number;
  body: string;
}

/**
 * Builds the `webhook-signature` of an attempt: an HMAC-SHA256 (`v1`) and an Ed25519 signature (`v1a`) with every key
 * that is valid at its time, current keys first.
 */
export function signWebhook(keys: readonly SigningKey[], { id, timestamp, body }: WebhookMessage): string {
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  return keys
    .filter(({ until }) => until === null || until.getTime() > timestamp * 1_000)
    .flatMap(({ hmacKey, privateKey }) => [
      `v1,${createHmac('sha256', hmacKey).update(content).digest('base64')}`,
      `v1a,${sign(null, content, privateKey).toString('base64')}`,
    ])
    .join(' ');
}
