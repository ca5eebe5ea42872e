import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { db } from '../../lib/database/pool.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { ServiceError } from '../../spec/errors.ts';
import {
  ACTIVE_API_KEYS_MAX,
  API_KEY_PREFIX_CHARACTERS,
  API_KEY_LAST_USED_INTERVAL_MS,
  PAGE_SIZE,
} from '../../spec/limits.ts';
import type { KeyMode } from '../../spec/testMode.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { lockAccount } from '../credits/ledger.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { accountSuspendedError, type Caller } from './accounts.ts';
import { describeOrigin, recordSecurityEvent, type RequestOrigin, SERVICE_ORIGIN } from './securityEvents.ts';
import { ensureTestAccount, requireTestMode } from './testAccounts.ts';

/** `svc_` and 40 hex characters (spec: API keys). */
const KEY_FORMAT = /^svc_[0-9a-f]{40}$/;

/** Returns the hash under which a key is stored, or null if the text is not a key. */
export function hashApiKey(key: string): Buffer | null {
  return KEY_FORMAT.test(key) ? sha256(key) : null;
}

/** A new key with its text, which is not stored. */
export interface CreatedApiKey {
  key: string;
  row: ApiKey;
}

/**
 * Creates an API key. Its text is returned only here.
 * @param onCreated may write more rows in the same transaction.
 * @param mode `test` for a key that acts on the test account, which the first such key creates.
 * @throws ServiceError validation_error when the account has 20 active keys or is being deleted, or without test mode.
 */
export async function createApiKey(
  accountId: number,
  name: string,
  onCreated: (transaction: Transaction, created: CreatedApiKey) => Promise<void> = async () => {},
  origin: RequestOrigin = SERVICE_ORIGIN,
  mode: KeyMode = 'live',
): Promise<CreatedApiKey> {
  if (mode === 'test') requireTestMode();
  const key = `svc_${randomHex(20)}`;
  return Account.transaction(async (transaction) => {
    // One statement checks the limit and counts, so that concurrent requests cannot create a 21st key.
    const [account] = await Account.query(transaction)
      .where('id', accountId)
      .where('active_key_count', '<', ACTIVE_API_KEYS_MAX)
      .whereNull('deletion_requested_at')
      .patch({ key_count: db.raw('key_count + 1'), active_key_count: db.raw('active_key_count + 1') } as object)
      .returning('key_count');
    if (account === undefined) throw await explainRejectedKey(transaction, accountId);
    const row = await ApiKey.query(transaction).insertAndFetch({
      key_hash: sha256(key),
      uuid: uuidv7(),
      account_id: accountId,
      test_account_id: mode === 'test' ? await ensureTestAccount(transaction, accountId) : null,
      number: account.key_count,
      name,
      prefix: key.slice(0, API_KEY_PREFIX_CHARACTERS),
      created_at: now(),
    });
    const details = describeKey(row);
    await recordSecurityEvent(transaction, { accountId, event: 'key_created', origin, details });
    await recordEvent(transaction, {
      accountId,
      type: 'key.created',
      subject: row.uuid,
      details: { ...details, ...describeOrigin(origin) },
    });
    await onCreated(transaction, { key, row });
    return { key, row };
  });
}

async function explainRejectedKey(transaction: Transaction, accountId: number): Promise<ServiceError> {
  const account = await Account.query(transaction).findById(accountId).throwIfNotFound();
  const detail =
    account.deletion_requested_at === null
      ? `name: the account already has ${ACTIVE_API_KEYS_MAX} active keys, the maximum. Revoke one first.`
      : 'name: the account is being deleted. Undo the deletion on the account page first.';
  return new ServiceError('validation_error', detail, { field: 'name' });
}

/** Describes a key in the security log. */
function describeKey({ name, prefix }: ApiKey): { name: string; prefix: string } {
  return { name, prefix };
}

/** Lists the keys of an account, newest first, including revoked ones. */
export async function listApiKeys(accountId: number, page: number): Promise<ListPage<ApiKey>> {
  const account = await Account.query().findById(accountId).select('key_count', 'live_account_id').throwIfNotFound();
  if (account.live_account_id !== null) return listTestKeys(account.live_account_id, page);
  const { key_count: totalItems } = account;
  const newest = totalItems - getPageOffset(page);
  if (newest <= 0) return { page, totalItems, items: [] };
  const items = await ApiKey.query()
    .where({ account_id: accountId })
    .whereBetween('number', [newest - PAGE_SIZE + 1, newest])
    .orderBy('number', 'desc');
  return { page, totalItems, items };
}

/** Lists the test keys of a live account, for a test key. They are few, so that they can be counted. */
async function listTestKeys(liveAccountId: number, page: number): Promise<ListPage<ApiKey>> {
  const keys = () => ApiKey.query().where({ account_id: liveAccountId }).whereNotNull('test_account_id');
  const [totalItems, items] = await Promise.all([
    keys().resultSize(),
    keys().orderBy('number', 'desc').offset(getPageOffset(page)).limit(PAGE_SIZE),
  ]);
  return { page, totalItems, items };
}

/** Lists the active keys of an account, newest first. There are at most `ACTIVE_API_KEYS_MAX`. */
export async function listActiveApiKeys(accountId: number): Promise<ApiKey[]> {
  return ApiKey.query().where({ account_id: accountId }).whereNull('revoked_at').orderBy('number', 'desc');
}

/**
 * Revokes a key permanently. Revoking it again changes nothing.
 * @param onRevoked may write more rows in the same transaction, unless the key was revoked before.
 * @returns the hash of the key.
 * @throws ServiceError not_found when the account has no such key.
 */
export async function revokeApiKey(
  accountId: number,
  uuid: string,
  {
    origin = SERVICE_ORIGIN,
    onRevoked = async () => {},
  }: {
    origin?: RequestOrigin;
    /** May write more rows in the same transaction. */
    onRevoked?: (transaction: Transaction, key: ApiKey) => Promise<void>;
  } = {},
): Promise<Buffer> {
  return Account.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const key = await ApiKey.query(transaction).findOne({ account_id: accountId, uuid });
    if (key === undefined)
      throw new ServiceError('not_found', 'Not found. This account has no API key with that UUID.');
    if (key.revoked_at === null) {
      await key.$query(transaction).patch({ revoked_at: now() });
      await Account.query(transaction).where('id', accountId).decrement('active_key_count', 1);
      const details = describeKey(key);
      await recordSecurityEvent(transaction, { accountId, event: 'key_revoked', origin, details });
      await recordEvent(transaction, { accountId, type: 'key.revoked', subject: uuid, details });
      await onRevoked(transaction, key);
    }
    return key.key_hash;
  });
}

const FIND_KEY_OWNERS = prepared(
  'find_api_key_owners',
  `SELECT k.key_hash, coalesce(k.test_account_id, k.account_id) AS account_id, k.test_account_id IS NOT NULL AS is_test,
          a.suspended_at IS NOT NULL AS is_suspended
     FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.key_hash = ANY (:hashes) AND k.revoked_at IS NULL`,
);

interface KeyOwnerRow {
  key_hash: Buffer;
  account_id: number;
  is_test: boolean;
  is_suspended: boolean;
}

const findOwnerByHash = createBatcher<Buffer, KeyOwnerRow | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  run: async (hashes) => {
    const rows = await runStatement<KeyOwnerRow>(FIND_KEY_OWNERS, { hashes });
    const owners = new Map(rows.map((row) => [row.key_hash.toString('hex'), row]));
    return hashes.map((hash) => owners.get(hash.toString('hex')));
  },
});

/**
 * Finds the account that an active key acts on, or undefined. Never cached, so that a revocation takes effect immediately.
 * @throws ServiceError account_suspended
 */
export async function findApiKeyOwner(keyHash: Buffer): Promise<Caller | undefined> {
  const owner = await findOwnerByHash(keyHash);
  if (owner?.is_suspended === true) throw accountSuspendedError();
  if (owner === undefined) return undefined;
  return { accountId: owner.account_id, keyHash, clientId: null, ...(owner.is_test ? { isTest: true } : {}) };
}

const RECORD_LAST_USED = prepared(
  'record_keys_last_used',
  `UPDATE api_keys SET last_used_at = :now
    WHERE key_hash IN (
      SELECT key_hash FROM api_keys
       WHERE key_hash = ANY (:hashes) AND (last_used_at IS NULL OR last_used_at <= :before)
       ORDER BY key_hash FOR NO KEY UPDATE SKIP LOCKED)`,
);

/** Records that keys were used, at most once per key and 60 seconds over all processes. */
export const recordApiKeyLastUsed = createBatcher<Buffer, void>({
  maxItems: 64,
  maxInFlight: 1,
  run: async (hashes) => {
    const at = now();
    await runStatement(RECORD_LAST_USED, {
      hashes,
      now: at,
      before: new Date(at.getTime() - API_KEY_LAST_USED_INTERVAL_MS),
    });
    return [];
  },
});
