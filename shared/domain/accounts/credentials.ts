import type { Transaction } from 'objection';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { createLastUsedRecorder } from '../../lib/database/lastUsed.ts';
import { writeArray, prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { createLruCache } from '../../lib/lruCache.ts';
import { sha256 } from '../../lib/secrets.ts';
import { perService } from '../../lib/serviceScope.ts';
import { ServiceError } from '../../spec/errors.ts';
import { API_KEY_LAST_USED_INTERVAL_MS } from '../../spec/limits.ts';
import { ALL_SCOPES, type KeyScope } from '../../spec/oauth.ts';
import type { MemberRole } from '../../spec/roles.ts';
import type { Caller, CallerMember, KeyCredential, Restrictions } from './caller.ts';

export const ACCOUNT_SUSPENDED_DETAIL = 'The account is suspended. Contact support to have it reinstated.';

/** Builds the error for every use of a credential of a suspended account. */
export function accountSuspendedError(): ServiceError {
  return new ServiceError('account_suspended', ACCOUNT_SUSPENDED_DETAIL);
}

export const APPLICATION_DISCONNECTED_DETAIL = 'The application was disconnected from the account: connect it again.';

const UNKNOWN_KEY_DETAIL = 'The API key is unknown or revoked.';

export const SESSION_ENDED_DETAIL = 'The session has ended: sign in again.';

export const SESSION_ENDED_MEANWHILE_DETAIL =
  'The session ended while the request ran. Nothing was created or changed: sign in again.';

/**
 * Builds the error for a key that is not valid, or a session or an application that was ended while its request ran.
 */
export function invalidCredentialError({ credential: { kind } }: Pick<Caller, 'credential'>): ServiceError {
  const details = {
    key: UNKNOWN_KEY_DETAIL,
    session: SESSION_ENDED_DETAIL,
    token: APPLICATION_DISCONNECTED_DETAIL,
    service: UNKNOWN_KEY_DETAIL,
  };
  return new ServiceError('invalid_api_key', details[kind]);
}

/** `svc_` and 40 hex characters (spec: API keys). */
const KEY_FORMAT = /^svc_[0-9a-f]{40}$/;

/** Returns the hash under which a key is stored, or null if the text is not a key. */
export function hashApiKey(key: string): Buffer | null {
  return KEY_FORMAT.test(key) ? sha256(key) : null;
}

/**
 * Columns of {@link KeyOwnerRow}, of the key `k`, its account `a` and the member `m` who made it. Most keys have no
 * options, which take time to parse.
 */
export const KEY_OWNER_COLUMNS = `coalesce(k.test_account_id, k.account_id) AS account_id, k.test_account_id IS NOT NULL AS is_test,
          k.member_number, m.role AS member_role,
          a.suspended_at IS NOT NULL AS is_suspended,
          CASE WHEN k.scopes IS NOT NULL OR k.expires_at IS NOT NULL OR k.allowed_models IS NOT NULL OR k.allowed_ips IS NOT NULL
                    OR a.spending_limit_count > 0 AND EXISTS (
                      SELECT FROM spending_limits l
                       WHERE l.account_id = k.account_id AND l.key_number = k.number AND l.credits IS NOT NULL)
               THEN json_build_object('scopes', k.scopes, 'expiresAt', k.expires_at,
                                      'hasExpired', k.revoked_at IS NOT NULL OR k.expires_at <= :now,
                                      'allowedModels', k.allowed_models, 'allowedIps', k.allowed_ips) END AS options`;

/**
 * Keys that have an owner. An expired one is found although it is revoked, so that its error can say why it stopped
 * working.
 */
export const IS_OWNED_KEY = '(k.revoked_at IS NULL OR k.expires_at <= k.revoked_at)';

const FIND_KEY_OWNERS = prepared(
  'find_api_key_owners',
  `SELECT k.key_hash, ${KEY_OWNER_COLUMNS}
     FROM api_keys k JOIN accounts a ON a.id = k.account_id
     JOIN members m ON m.account_id = k.account_id AND m.number = k.member_number
    WHERE k.key_hash = ANY (${writeArray('hashes', 'bytea')}) AND ${IS_OWNED_KEY}`,
);

export interface KeyOwnerRow {
  account_id: number;
  is_test: boolean;
  member_number: number;
  member_role: MemberRole;
  is_suspended: boolean;
  /** Null if the key has no option and no spending limit. */
  options: {
    scopes: KeyScope[] | null;
    expiresAt: string | null;
    hasExpired: boolean | null;
    allowedModels: string[] | null;
    allowedIps: string[] | null;
  } | null;
}

const findOwnerByHash = createBatcher<Buffer, KeyOwnerRow | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  // As for reads of generations.
  intervalMs: 1,
  intervalMinItems: 4,
  waitTimeout: DB_WAIT_TIMEOUT,
  run: async (hashes) => {
    const bindings = { hashes, now: now() };
    const rows = await runStatement<KeyOwnerRow & { key_hash: Buffer }>(FIND_KEY_OWNERS, bindings);
    const owners = new Map(rows.map((row) => [row.key_hash.toString('hex'), row]));
    return hashes.map((hash) => owners.get(hash.toString('hex')));
  },
});

/** Callers as this process last read them, by the hash of their key in hexadecimal digits. */
const readCallers = perService(() => createLruCache<string, Caller>(50_000));

/**
 * Finds the account that a key acts on, and the rights of the key, in the database: a change takes effect immediately.
 * @throws ServiceError invalid_api_key, account_suspended
 */
export async function verifyApiKey(key: KeyCredential): Promise<Caller> {
  const hash = key.hash.toString('hex');
  const owner = await findOwnerByHash(key.hash);
  readCallers().delete(hash);
  const caller = buildKeyCaller(key, owner);
  readCallers().set(hash, caller);
  return caller;
}

/**
 * Returns the caller of a key as this process last read it, or undefined. The account of a key never changes; the key
 * may have been restricted or revoked since, so that a statement that uses the account verifies the key.
 */
export function recallKeyCaller(key: KeyCredential): Caller | undefined {
  const caller = readCallers().get(key.hash.toString('hex'));
  return caller === undefined ? undefined : { ...caller, credential: key };
}

/** Returns the rights of a valid key as they are for a transaction; null if the key is not valid. */
export async function readKeyRights(
  transaction: Transaction,
  hash: Buffer,
): Promise<(Required<Pick<Caller, 'member'>> & { restrictions: Restrictions | undefined }) | null> {
  const [owner] = await runStatement<KeyOwnerRow>(FIND_KEY_OWNERS, { hashes: [hash], now: now() }, transaction);
  if (owner === undefined || owner.options?.hasExpired === true) return null;
  return { member: buildMember(owner), restrictions: buildRestrictions(owner) };
}

/** @throws ServiceError as {@link verifyApiKey} */
export function buildKeyCaller(key: KeyCredential, owner: KeyOwnerRow | undefined): Caller {
  if (owner === undefined) throw new ServiceError('invalid_api_key', UNKNOWN_KEY_DETAIL);
  if (owner.options?.hasExpired === true) throw keyExpiredError(owner.options.expiresAt);
  if (owner.is_suspended) throw accountSuspendedError();
  return {
    accountId: owner.account_id,
    credential: key,
    member: buildMember(owner),
    isTest: owner.is_test,
    restrictions: buildRestrictions(owner),
  };
}

const buildMember = ({ member_number: number, member_role: role }: KeyOwnerRow): CallerMember => ({ number, role });

/**
 * Returns the restrictions of a key; undefined if it has none of the options, and so all rights of its account. A key
 * that is limited in another way does not have the scope `account` unless it is named.
 */
function buildRestrictions({ options }: KeyOwnerRow): Restrictions | undefined {
  if (options === null) return undefined;
  const { scopes, allowedModels, allowedIps } = options;
  return { scopes: new Set(scopes ?? ALL_SCOPES), allowedModels, allowedIps };
}

function keyExpiredError(expiresAt: string | null): ServiceError {
  const time = expiresAt === null ? '' : ` at ${new Date(expiresAt).toISOString()}`;
  return new ServiceError('invalid_api_key', `The API key expired${time}. Create another one, and use that.`);
}

/** Records that keys were used, at most once per key and 60 seconds over all processes. */
export const recordApiKeyLastUsed = createLastUsedRecorder({
  name: 'record_keys_last_used',
  table: 'api_keys',
  key: 'key_hash',
  type: 'bytea',
  intervalMs: API_KEY_LAST_USED_INTERVAL_MS,
});
