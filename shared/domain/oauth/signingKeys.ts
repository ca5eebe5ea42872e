import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { ACCESS_TOKEN_SECONDS } from '../../spec/limits.ts';
import { OAuthSigningKey } from '../../tables/OAuthSigningKey.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { sha256 } from '../../lib/secrets.ts';

/** Time between publication and first use of a signing key, so that all verifiers have fetched it. */
const ACTIVATION_DELAY_MS = 10 * MINUTE_MS;

/** A parsed key pair, ready to sign and verify. */
export interface SigningKey {
  kid: string;
  signsFrom: Date;
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** Encoded header of every token that the key signs. No other header is accepted. */
  header: string;
}

/** Maximum age of the cached keys. */
const CACHE_MAX_AGE_MS = 30_000;
/** Minimum time between two reads for unknown key ids, so that made-up ids cannot flood the database. */
const REFETCH_INTERVAL_MS = 2_000;
/** Time for which a key stays published after its last signature. */
export const RETIRED_KEY_PUBLISH_MS = ACCESS_TOKEN_SECONDS * 1_000 + ACTIVATION_DELAY_MS;

const state = perService(() => ({
  known: [] as SigningKey[],
  byHeader: new Map<string, SigningKey>(),
  readAt: Number.NEGATIVE_INFINITY,
  reading: undefined as Promise<void> | undefined,
}));

/** Returns the published keys, newest first. Creates the first key if there is none. */
export async function getPublishedKeys(): Promise<readonly SigningKey[]> {
  if (state().known.length === 0) await refreshKeys();
  else if (performance.now() - state().readAt > CACHE_MAX_AGE_MS) refreshKeysInBackground();
  return state().known;
}

/** Returns the key to sign with: the newest one that is active. */
export async function getSigningKey(): Promise<SigningKey> {
  const keys = await getPublishedKeys();
  const at = now();
  return (keys.find(({ signsFrom }) => signsFrom <= at) ?? keys.at(-1)) as SigningKey;
}

/** Finds the key of a token by its encoded header. Reads the keys again if the header is unknown. */
export function findKeyByHeader(header: string): SigningKey | undefined | Promise<SigningKey | undefined> {
  const { byHeader, readAt } = state();
  const key = byHeader.get(header);
  if (key === undefined) return refetchAndFindKey(header);
  if (performance.now() - readAt > CACHE_MAX_AGE_MS) refreshKeysInBackground();
  return key;
}

async function refetchAndFindKey(header: string): Promise<SigningKey | undefined> {
  const { reading, readAt } = state();
  if (reading !== undefined || performance.now() - readAt > REFETCH_INTERVAL_MS) await refreshKeys();
  return state().byHeader.get(header);
}

/**
 * Creates the next key. It is published immediately, and signs once every process and verifier has it. The previous key
 * stays published until its last token has expired.
 * @returns the new key's id and the time of its activation; undefined if another process created the key.
 */
export async function rotateSigningKeys(): Promise<{ kid: string; signsFrom: Date } | undefined> {
  const newest = await OAuthSigningKey.query().orderBy('number', 'desc').first();
  const at = now();
  const signsFrom = newest === undefined ? at : addMilliseconds(at, ACTIVATION_DELAY_MS);
  return createSigningKey((newest?.number ?? 0) + 1, at, signsFrom);
}

/** @param next the key that replaced the one in question. */
function isRetired(next: OAuthSigningKey | undefined): boolean {
  return next !== undefined && addMilliseconds(next.signs_from, RETIRED_KEY_PUBLISH_MS) <= now();
}

function refreshKeysInBackground(): void {
  refreshKeys().catch((error: unknown) => logger.warn({ err: error }, 'signing key refresh failed; using cached keys'));
}

/** Reads the keys. Simultaneous calls share one read. */
function refreshKeys(): Promise<void> {
  const current = state();
  current.reading ??= loadKeys().finally(() => {
    current.reading = undefined;
  });
  return current.reading;
}

async function loadKeys(): Promise<void> {
  let rows = await OAuthSigningKey.query().orderBy('number', 'desc');
  if (rows.length === 0) {
    const at = now();
    // When several processes start for the first time, one creates the key and all read it.
    await createSigningKey(1, at, at);
    rows = await OAuthSigningKey.query().orderBy('number', 'desc');
  }
  const current = state();
  const before = new Map(current.known.map((key) => [key.kid, key]));
  current.known = rows
    .filter((_, index) => !isRetired(rows[index - 1]))
    .map((row) => before.get(row.kid) ?? toSigningKey(row));
  current.byHeader = new Map(current.known.map((key) => [key.header, key]));
  current.readAt = performance.now();
}

function toSigningKey(row: OAuthSigningKey): SigningKey {
  const privateKey = createPrivateKey(row.private_key);
  const header = { alg: 'RS256', typ: 'at+jwt', kid: row.kid };
  return {
    kid: row.kid,
    signsFrom: row.signs_from,
    privateKey,
    publicKey: createPublicKey(privateKey),
    header: Buffer.from(JSON.stringify(header)).toString('base64url'),
  };
}

async function createSigningKey(number: number, createdAt: Date, signsFrom: Date) {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2_048 });
  const { e, kty, n } = publicKey.export({ format: 'jwk' });
  // The thumbprint of RFC 7638.
  const kid = sha256(JSON.stringify({ e, kty, n })).toString('base64url');
  const inserted = await OAuthSigningKey.query()
    .insert({
      number,
      kid,
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      created_at: createdAt,
      signs_from: signsFrom,
    })
    .onConflict('number')
    .ignore()
    .returning('kid');
  return (inserted as unknown as OAuthSigningKey[]).length === 0 ? undefined : { kid, signsFrom };
}
