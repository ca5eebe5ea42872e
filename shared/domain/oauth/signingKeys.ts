import { createHash, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { ACCESS_TOKEN_SECONDS, SIGNING_KEY_ACTIVATION_DELAY_MS } from '../../spec/limits.ts';
import { OAuthSigningKey } from '../../tables/OAuthSigningKey.ts';

/** A key as it is used: ready to sign and to verify with. */
export interface SigningKey {
  kid: string;
  signsFrom: Date;
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** The first part of every token that it signs; no other one is accepted. */
  header: string;
}

/** How old what this process knows of the keys may be. */
const CACHE_MAX_AGE_MS = 30_000;
/** For an unknown key id the keys are read again, but not more often than this, however many are made up. */
const REFETCH_INTERVAL_MS = 2_000;
/** A key is published for so long after it has signed for the last time. */
const RETIRED_KEY_PUBLISH_MS = ACCESS_TOKEN_SECONDS * 1_000 + SIGNING_KEY_ACTIVATION_DELAY_MS;

const state = perService(() => ({
  known: [] as SigningKey[],
  byHeader: new Map<string, SigningKey>(),
  readAt: Number.NEGATIVE_INFINITY,
  reading: undefined as Promise<void> | undefined,
}));

/** The keys that tokens may be signed with at this moment, newest first; the first one is made here. */
export async function getPublishedKeys(): Promise<readonly SigningKey[]> {
  if (state().known.length === 0) await refreshKeys();
  else if (performance.now() - state().readAt > CACHE_MAX_AGE_MS) refreshKeysInBackground();
  return state().known;
}

/** The key to sign with: the newest one whose time has come. */
export async function getSigningKey(): Promise<SigningKey> {
  const keys = await getPublishedKeys();
  const at = now();
  return (keys.find(({ signsFrom }) => signsFrom <= at) ?? keys.at(-1)) as SigningKey;
}

/** The key that a token names in its header, or undefined where there is no such key, also after looking again. */
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
 * Makes the next key. It is published at once and signs from when every process and every verifier has it; the one
 * before stays published until its last token has expired.
 * @returns the new key's id and when it begins to sign; undefined where another process has just made one.
 */
export async function rotateSigningKeys(): Promise<{ kid: string; signsFrom: Date } | undefined> {
  const newest = await OAuthSigningKey.query().orderBy('number', 'desc').first();
  const at = now();
  const signsFrom = newest === undefined ? at : addMilliseconds(at, SIGNING_KEY_ACTIVATION_DELAY_MS);
  return createSigningKey((newest?.number ?? 0) + 1, at, signsFrom);
}

/** Forgets keys that have signed nothing that is still good. */
export async function pruneRetiredKeys(): Promise<void> {
  const keys = await OAuthSigningKey.query().orderBy('number', 'desc');
  const retired = keys.filter((_, index) => isRetired(keys[index - 1]));
  await OAuthSigningKey.query()
    .findByIds(retired.map(({ number }) => number))
    .delete();
}

/** @param next the key that took over from the one in question. */
function isRetired(next: OAuthSigningKey | undefined): boolean {
  return next !== undefined && addMilliseconds(next.signs_from, RETIRED_KEY_PUBLISH_MS) <= now();
}

function refreshKeysInBackground(): void {
  refreshKeys().catch((error: Error) =>
    logger.warn({ error: error.message }, 'the signing keys could not be read again'),
  );
}

/** Reads the keys; those who ask at the same time share one reading. */
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
    // Of several processes at their first start one makes the key, and all read it.
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
  const kid = createHash('sha256').update(JSON.stringify({ e, kty, n })).digest('base64url');
  const made = await OAuthSigningKey.query()
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
  return (made as unknown as OAuthSigningKey[]).length === 0 ? undefined : { kid, signsFrom };
}
