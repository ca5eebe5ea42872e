import { createPublicKey, type KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { tryParseBoundedJson } from '../../../lib/boundedJson.ts';
import { now } from '../../../lib/clock.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { HOUR_MS, MINUTE_MS } from '../../../spec/durations.ts';
import { requestJson } from '../http.ts';
import { getField, isSafeString } from '../responses.ts';
import { UpstreamError } from '../upstream.ts';
import type { UpstreamSettings } from '../upstreamSettings.ts';
import {
  type CallbackProtocol,
  type CallbackRequest,
  falCallbacks,
  parseSecret,
  replicateCallbacks,
  type VerificationKeys,
} from './callbackProtocols.ts';
import type { CallbackSettings } from './callbackSettings.ts';
import { describedCallbacks } from './describedCallbacks.ts';

/** Difference between the time of a signature and ours from which a call-back is rejected, as its providers advise. */
const TOLERANCE_SECONDS = 300;

function getProtocol({ adapter, protocol }: UpstreamSettings): CallbackProtocol {
  if (adapter === 'fal') return falCallbacks;
  if (adapter === 'replicate') return replicateCallbacks;
  if (protocol?.callback === undefined) throw new Error('This protocol has no call-backs.');
  return describedCallbacks(protocol.callback);
}

/** Returns true if the headers are well-formed and the signature is recent. Verifying it requires the body. */
export function isRecentCallback(upstream: UpstreamSettings, headers: IncomingHttpHeaders): boolean {
  const timestamp = getProtocol(upstream).readTimestamp(headers);
  return timestamp !== undefined && Math.abs(now().getTime() / 1_000 - timestamp) <= TOLERANCE_SECONDS;
}

/**
 * Verifies the signature of a call-back.
 * @returns the id of the job that it is about; undefined if the signature is not the upstream's, or there is no id.
 * @throws UpstreamError unavailable if the upstream's keys are not available.
 */
export async function verifyCallback(
  upstream: UpstreamSettings,
  request: CallbackRequest,
): Promise<string | undefined> {
  const { callbacks } = upstream;
  if (callbacks === undefined) return undefined;
  const protocol = getProtocol(upstream);
  const isGenuine = await verifyWithKeys({ ...upstream, callbacks }, (keys) => protocol.verify(request, keys));
  return isGenuine ? toJobId(protocol.readId(tryParseBoundedJson(request.body.toString()))) : undefined;
}

function toJobId(id: unknown): string | undefined {
  return isSafeString(id) ? id : undefined;
}

/** Age at which keys are fetched again. fal allows a day. */
const FRESH_MS = HOUR_MS;
/**
 * Minimum interval between two fetches, of this process and for one upstream. A signature that no key fits may be that
 * of a new key, or forged: however many of those arrive, they cause one fetch a minute.
 */
const REFETCH_INTERVAL_MS = MINUTE_MS;
/** Minimum interval after a failed fetch. */
const RETRY_INTERVAL_MS = 5_000;
const KEYS_MAX = 16;

/** An upstream that sends call-backs. */
type CallbackUpstream = UpstreamSettings & { callbacks: CallbackSettings };

interface CachedKeys {
  keys: VerificationKeys | undefined;
  fetchedAt: number;
  /** Start of the last fetch, successful or not. */
  attemptedAt: number;
  fetching: Promise<void> | undefined;
}

const cache = perService(() => new Map<string, CachedKeys>());

/**
 * Verifies a signature with the keys of an upstream. The keys are cached, and fetched again if none of them fits. Keys
 * that are no longer fresh are used while others are fetched, so that only a signature that none of them fits waits.
 * @param verify returns true if the signature is that of one of the keys.
 * @throws UpstreamError unavailable if the keys were never fetched and cannot be.
 */
async function verifyWithKeys(
  upstream: CallbackUpstream,
  verify: (keys: VerificationKeys) => boolean,
): Promise<boolean> {
  const { secret } = upstream.callbacks;
  if (secret !== null) return verify([secret]);
  const cached = getCached(upstream.name);
  if (cached.keys === undefined) await refetch(upstream, cached);
  else if (now().getTime() - cached.fetchedAt > FRESH_MS) void refetch(upstream, cached);
  const { keys } = cached;
  if (keys === undefined) throw new UpstreamError('unavailable', `the keys of ${upstream.name} are not available`);
  if (verify(keys)) return true;
  await refetch(upstream, cached);
  return cached.keys !== keys && verify(cached.keys ?? []);
}

function getCached(name: string): CachedKeys {
  let cached = cache().get(name);
  if (cached === undefined) {
    const never = Number.NEGATIVE_INFINITY;
    cached = { keys: undefined, fetchedAt: never, attemptedAt: never, fetching: undefined };
    cache().set(name, cached);
  }
  return cached;
}

/** Fetches the keys unless that was tried a moment ago. Concurrent callers share one fetch. Never rejects. */
async function refetch(upstream: CallbackUpstream, cached: CachedKeys): Promise<void> {
  if (cached.fetching !== undefined) return cached.fetching;
  const hasFailed = cached.attemptedAt > cached.fetchedAt;
  const intervalMs = hasFailed ? RETRY_INTERVAL_MS : REFETCH_INTERVAL_MS;
  if (now().getTime() - cached.attemptedAt < intervalMs) return undefined;
  cached.attemptedAt = now().getTime();
  cached.fetching = fetchInto(upstream, cached).finally(() => (cached.fetching = undefined));
  return cached.fetching;
}

async function fetchInto(upstream: CallbackUpstream, cached: CachedKeys): Promise<void> {
  try {
    cached.keys = await fetchKeys(upstream);
    cached.fetchedAt = now().getTime();
    cached.attemptedAt = cached.fetchedAt;
  } catch (err) {
    logger.warn({ err, upstream: upstream.name }, 'keys of call-backs not fetched; polls continue');
  }
}

async function fetchKeys({ adapter, key, callbacks }: CallbackUpstream): Promise<VerificationKeys> {
  const headers: Record<string, string> = { accept: 'application/json' };
  // Replicate's secret is that of our account. Public keys need no credential, and are on another host.
  if (adapter === 'replicate') headers['authorization'] = `Bearer ${key}`;
  const { status, body } = await requestJson('GET', callbacks.keysUrl, { headers });
  if (status !== 200) throw new Error(`${callbacks.keysUrl} returned status ${status}`);
  if (adapter !== 'replicate') return parseKeySet(body);
  const secret = parseSecret(getField(body, 'key'));
  if (secret === undefined) throw new Error('the secret is not one of Standard Webhooks');
  return [secret];
}

/** Parses a JSON Web Key Set (RFC 7517). Keys of other types are for other purposes. */
function parseKeySet(body: unknown): KeyObject[] {
  const entries = getField(body, 'keys');
  const keys = (Array.isArray(entries) ? entries.slice(0, KEYS_MAX) : []).flatMap((entry: unknown) => {
    const x = getField(entry, 'x');
    if (getField(entry, 'kty') !== 'OKP' || getField(entry, 'crv') !== 'Ed25519' || typeof x !== 'string') return [];
    try {
      return [createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })];
    } catch {
      return [];
    }
  });
  if (keys.length === 0) throw new Error('the key set contains no Ed25519 key');
  return keys;
}
