import { verifyWebhook, WebhookVerificationError } from '../../../../packages/client/src/index.ts';
import type { WebhookEventType } from '../../../../shared/spec/events.ts';
import type { ReceivedMessage } from '../../webhookReceiver.ts';
import type { KnownKeys, ObservedEndpoint } from '../journal.ts';

/** A message that was signed before a rotation arrives at most this much later. */
const IN_TRANSIT_MS = 60_000;

/** The JSON of a message. */
export interface WebhookBody {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** Parses the JSON of a message; null if it is not the object that webhooks contain. */
export function parseWebhookBody(text: string): WebhookBody | null {
  try {
    const body = JSON.parse(text) as Partial<WebhookBody> | null;
    const isComplete =
      typeof body?.type === 'string' && typeof body.timestamp === 'string' && typeof body.data === 'object';
    return isComplete && body.data !== null ? (body as WebhookBody) : null;
  } catch {
    return null;
  }
}

export const isGenerationEvent = (type: string): type is WebhookEventType => type.startsWith('generation.');

/**
 * Describes a problem of the signatures of a message from an endpoint with one of these keys; null if there is none.
 */
export async function findSignatureProblem(
  { id, timestamp, signature, body }: ReceivedMessage,
  keys: readonly KnownKeys[],
): Promise<string | null> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  try {
    // Each verifies one version of the signatures.
    await verifyWebhook(
      body,
      headers,
      keys.map(({ secret }) => secret),
      { toleranceSeconds: Infinity },
    );
    await verifyWebhook(
      body,
      headers,
      keys.map(({ publicKey }) => publicKey),
      { toleranceSeconds: Infinity },
    );
    return null;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.message;
    throw error;
  }
}

/**
 * Selects the keys of an endpoint one of which a message must be signed with. Null if they are not known, because the
 * response to its creation or to a rotation was lost.
 */
export function selectKeys(
  { uuid, keys, rotations, keysUncertainFrom }: ObservedEndpoint,
  at: number,
): readonly KnownKeys[] | null {
  if (uuid === null || (keysUncertainFrom !== null && at >= keysUncertainFrom)) return null;
  const current = keys.findLast(({ confirmedAt }) => confirmedAt <= at - IN_TRANSIT_MS);
  const isRotated = rotations.some((time) => current !== undefined && time > current.confirmedAt && time <= at);
  return current === undefined || isRotated ? keys : [current];
}
