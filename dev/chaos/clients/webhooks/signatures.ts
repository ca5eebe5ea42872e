import { createPublicKey, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { ReceivedMessage } from '../../webhookReceiver.ts';
import type { KnownKeys, ObservedEndpoint } from './webhookStore.ts';

/** A message that was signed before a rotation arrives at most this much later. */
const IN_TRANSIT_MS = 60_000;
/** DER header of an Ed25519 public key, which its 32 bytes follow. */
const ED25519_HEADER = Buffer.from('302a300506032b6570032100', 'hex');

/** Describes a problem of the signatures of a message from an endpoint with these keys; null if there is none. */
export function findSignatureProblem(message: ReceivedMessage, keys: readonly KnownKeys[]): string | null {
  const signatures = message.signature.split(' ');
  if (!/^\d{10}$/.test(message.timestamp)) return `webhook-timestamp is "${message.timestamp}"`;
  if (!keys.some(({ secret }) => signatures.includes(signWithSecret(message, secret)))) return 'no v1 signature fits';
  if (!keys.some(({ publicKey }) => isSignedWith(message, signatures, publicKey))) return 'no v1a signature fits';
  return null;
}

/**
 * The keys of an endpoint that a message must be signed with: one of them. Null if they are not known, because the
 * response to its creation or to a rotation was lost.
 */
export function selectKeys(
  { uuid, keys, rotations, keysUncertainFrom }: ObservedEndpoint,
  at: number,
): readonly KnownKeys[] | null {
  if (uuid === null) return null;
  if (keysUncertainFrom !== null && at >= keysUncertainFrom) return null;
  const current = keys.findLast(({ confirmedAt }) => confirmedAt <= at - IN_TRANSIT_MS);
  const isStable = current !== undefined && !rotations.some((requestedAt) => isBetween(requestedAt, current, at));
  return isStable ? [current] : keys;
}

function isBetween(requestedAt: number, { confirmedAt }: KnownKeys, at: number): boolean {
  return requestedAt > confirmedAt && requestedAt <= at;
}

function signWithSecret({ id, timestamp, body }: ReceivedMessage, secret: string): string {
  return new Webhook(secret).sign(id, new Date(1_000 * Number(timestamp)), body);
}

function isSignedWith(
  { id, timestamp, body }: ReceivedMessage,
  signatures: readonly string[],
  publicKey: string,
): boolean {
  const raw = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64');
  const key = createPublicKey({ key: Buffer.concat([ED25519_HEADER, raw]), format: 'der', type: 'spki' });
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  return signatures
    .filter((signature) => signature.startsWith('v1a,'))
    .some((signature) => verify(null, content, key, Buffer.from(signature.slice(4), 'base64')));
}
