import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { getCatalog } from '../../lib/catalog/catalog.ts';
import { now } from '../../lib/clock.ts';
import { INSTANT_FORM, parseInstant } from '../../lib/instant.ts';
import { parseIpRange } from '../../lib/ipRanges.ts';
import { listBriefly } from '../../lib/listBriefly.ts';
import { logger } from '../../lib/logger.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { ServiceError } from '../../spec/errors.ts';
import { ACTIVE_API_KEYS_MAX, API_KEY_PREFIX_CHARACTERS, PAGE_SIZE } from '../../spec/limits.ts';
import { ALL_KEY_SCOPES, type KeyScope } from '../../spec/oauth.ts';
import type { KeyMode } from '../../spec/testMode.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Member } from '../../tables/Member.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import type { CreditLimit, SpendingLimitState } from '../../presenters/spendingLimit.ts';
import { buildUnusedLimit } from '../spendingLimits/listSpendingLimits.ts';
import { setSpendingLimit } from '../spendingLimits/setSpendingLimit.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { assertNotDeleting } from './accounts.ts';
import { buildServiceCaller, type Caller, requireMember } from './caller.ts';
import { withAccountOfCaller } from './lockedCredentials.ts';
import { describeOrigin, recordSecurityEvent, type RequestOrigin, SERVICE_ORIGIN } from './securityEvents.ts';
import { assertEnoughRights } from './memberRights.ts';
import { makesKeysWithoutStaffRights } from './staffRights.ts';
import { assertFormNotStale } from './staleForm.ts';
import { ensureTestAccount, lockTestAccount, requireTestMode } from './testAccounts.ts';

/** A new key with its text, which is not stored. */
export interface CreatedApiKey {
  key: string;
  row: ApiKey;
  /** Spending limit, if it has one. */
  limit: SpendingLimitState | null;
}

/** Options of an API key in a request. Null: without the option. Undefined: not in the request. */
interface KeyOptionsInput {
  scopes?: readonly KeyScope[] | null;
  /** A date, or a time with its zone. */
  expires_at?: string | null;
  allowed_models?: readonly string[] | null;
  /** Addresses, or ranges in CIDR notation. */
  allowed_ips?: readonly string[] | null;
}

/** Options of an API key as they are stored. */
type KeyOptions = Pick<ApiKey, 'scopes' | 'expires_at' | 'allowed_models' | 'allowed_ips'>;

const NO_KEY_OPTIONS: KeyOptions = { scopes: null, expires_at: null, allowed_models: null, allowed_ips: null };

/** A key to create: its name, and the options that restrict it. */
export interface NewApiKey extends KeyOptionsInput {
  name: string;
  /** `test` for a key that acts on the test account, which the first such key creates. */
  mode?: KeyMode;
  credit_limit?: CreditLimit | null;
}

/** Changes of a key; null removes an option. */
type ApiKeyChange = Partial<Omit<NewApiKey, 'mode'>>;

interface UpdateKeyOptions {
  origin?: RequestOrigin;
  /** Version that the caller has read. Without it, every version is overwritten. */
  expectedVersion?: string | undefined;
}

interface CreateKeyOptions {
  origin?: RequestOrigin;
  /** May write more rows in the same transaction. */
  onCreated?: (transaction: Transaction, created: CreatedApiKey) => Promise<void>;
}

/**
 * Creates an API key. Its text is returned only here.
 * @param caller whose credential must not have been changed or revoked meanwhile.
 * @throws ServiceError validation_error for invalid options, when the account has 20 active keys, or is being deleted,
 *   or without test mode; insufficient_scope or invalid_api_key if the caller's key was changed or revoked meanwhile;
 *   insufficient_scope for the key of a removed member.
 */
export async function createApiKey(
  caller: Caller,
  { name, mode = 'live', credit_limit: creditLimit, ...input }: NewApiKey,
  { origin = SERVICE_ORIGIN, onCreated = async () => {} }: CreateKeyOptions = {},
): Promise<CreatedApiKey> {
  const { accountId } = caller;
  if (mode === 'test') requireTestMode();
  const options = { ...NO_KEY_OPTIONS, ...parseKeyOptions(input) };
  const key = `svc_${randomHex(20)}`;
  return withAccountOfCaller(caller, async (transaction, account) => {
    assertNotDeleting(account, 'name');
    const { number: memberNumber } = requireMember(caller);
    await assertNotRemoved(transaction, caller);
    const { active_key_count: activeCount, key_count: count } = account;
    if (activeCount >= ACTIVE_API_KEYS_MAX) {
      const detail = `name: the account already has ${ACTIVE_API_KEYS_MAX} active keys, the maximum. Revoke one first.`;
      throw new ServiceError('validation_error', detail, { field: 'name' });
    }
    await account.$query(transaction).patch({ key_count: count + 1, active_key_count: activeCount + 1 });
    const row = await ApiKey.query(transaction).insertAndFetch({
      key_hash: sha256(key),
      uuid: uuidv7(),
      account_id: accountId,
      test_account_id: mode === 'test' ? await ensureTestAccount(transaction, accountId) : null,
      number: count + 1,
      member_number: memberNumber,
      name,
      prefix: key.slice(0, API_KEY_PREFIX_CHARACTERS),
      created_at: now(),
      lacks_staff_rights: await makesKeysWithoutStaffRights(transaction, caller),
      ...options,
    });
    await recordKeyChange(transaction, row, 'key_created', origin);
    const details = { ...describeKey(row), ...describeOrigin(origin) };
    await recordEvent(transaction, { accountId, type: 'key.created', subject: row.uuid, details });
    if (creditLimit != null) await setKeyLimit(transaction, row, creditLimit);
    const limit = creditLimit == null ? null : buildUnusedLimit(creditLimit);
    const created = { key, row, limit };
    await onCreated(transaction, created);
    return created;
  });
}

/** Rejects the key of a removed member, which must not get more access. @throws ServiceError insufficient_scope */
async function assertNotRemoved(transaction: Transaction, { accountId, member }: Caller): Promise<void> {
  if (member === undefined) return;
  const { removed_at: removedAt } = await Member.query(transaction)
    .findById([accountId, member.number])
    .throwIfNotFound();
  if (removedAt === null) return;
  throw new ServiceError(
    'insufficient_scope',
    'The member who created this API key was removed from the account. It still works, but it cannot create or change keys.',
  );
}

/** Describes a key in the security log and in events. */
function describeKey({ name, prefix }: ApiKey): { name: string; prefix: string } {
  return { name, prefix };
}

function recordKeyChange(
  transaction: Transaction,
  key: ApiKey,
  event: 'key_created' | 'key_changed' | 'key_revoked',
  origin: RequestOrigin,
  facts: { changed?: string } = {},
): Promise<void> {
  const details = { ...describeKey(key), ...facts };
  const subject = { key: key.uuid };
  return recordSecurityEvent(transaction, { accountId: key.account_id, event, origin, details, subject });
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
 * Changes the name or options of a key. What is not given stays as it is. Takes effect immediately on every process: a
 * request that was admitted with other rights is rejected once it has locked the account.
 * @throws ServiceError not_found when the account has no such key; validation_error for invalid options, or if the key
 *   is revoked or has expired, or would be changed and has another version than expected; insufficient_scope if the key
 *   acts with rights that the caller lacks, for the key of a removed member, or if the caller's key was changed
 *   meanwhile.
 */
export async function updateApiKey(
  caller: Caller,
  uuid: string,
  { name, credit_limit: creditLimit, ...input }: ApiKeyChange,
  { origin = SERVICE_ORIGIN, expectedVersion }: UpdateKeyOptions = {},
): Promise<ApiKey> {
  const { accountId } = caller;
  return withAccountOfCaller(caller, async (transaction) => {
    const key = await findKey(transaction, accountId, uuid);
    assertChangeable(key);
    await assertNotRemoved(transaction, caller);
    await assertEnoughRights(transaction, caller, {
      memberNumbers: [key.member_number],
      name: 'This API key',
      change: 'change it',
      instead: 'revoke it',
    });
    const options = parseKeyOptions(input, key);
    const isLimitChanged = creditLimit !== undefined && (await setKeyLimit(transaction, key, creditLimit));
    const changed = [
      ...(name === undefined || name === key.name ? [] : ['name']),
      ...(isLimitChanged ? ['credit_limit'] : []),
      ...listChangedOptions(key, options),
    ];
    if (changed.length === 0) return key;
    assertFormNotStale('This API key was changed', { expected: expectedVersion, present: String(key.version) });
    const updated = await key.$query(transaction).patchAndFetch({
      ...(name === undefined ? {} : { name }),
      ...options,
      version: key.version + 1,
    });
    await lockTestAccount(transaction, accountId);
    await recordKeyChange(transaction, updated, 'key_changed', origin, { changed: changed.join(', ') });
    return updated;
  });
}

/** @throws ServiceError validation_error for a test key */
function setKeyLimit(transaction: Transaction, key: ApiKey, limit: CreditLimit | null): Promise<boolean> {
  if (key.test_account_id !== null && limit !== null) {
    const detail = 'credit_limit: a test key spends no credits and cannot have a limit.';
    throw new ServiceError('validation_error', detail, { field: 'credit_limit' });
  }
  return setSpendingLimit(transaction, key.account_id, { keyNumber: key.number }, limit);
}

/** @throws ServiceError validation_error */
function assertChangeable({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKey): void {
  const problem = revokedAt !== null ? 'is revoked' : expiresAt !== null && expiresAt <= now() ? 'has expired' : null;
  if (problem !== null)
    throw new ServiceError('validation_error', `The API key ${problem} and cannot be changed. Create another one.`);
}

async function findKey(transaction: Transaction, accountId: number, uuid: string): Promise<ApiKey> {
  const key = await ApiKey.query(transaction).findOne({ account_id: accountId, uuid });
  if (key !== undefined) return key;
  throw new ServiceError('not_found', 'Not found. This account has no API key with that UUID.');
}

/**
 * Revokes a key of the caller's account permanently.
 * @returns false if it was revoked before: nothing was changed or recorded.
 * @throws ServiceError not_found when the account has no such key.
 */
export async function revokeApiKey(
  caller: Caller,
  uuid: string,
  {
    origin = SERVICE_ORIGIN,
    expiredBy,
    actor,
  }: {
    origin?: RequestOrigin;
    /** Revokes the key only if its expiry is not later. */
    expiredBy?: Date;
    /** Staff who revoke it. */
    actor?: Actor;
  } = {},
): Promise<boolean> {
  const { accountId } = caller;
  const isRevoked = await withAccountOfCaller(caller, async (transaction) => {
    const key = await findKey(transaction, accountId, uuid);
    const isExpired = expiredBy === undefined || (key.expires_at !== null && key.expires_at <= expiredBy);
    if (key.revoked_at !== null || !isExpired) return false;
    await key.$query(transaction).patch({ revoked_at: now() });
    await Account.query(transaction).findById(accountId).decrement('active_key_count', 1);
    await lockTestAccount(transaction, accountId);
    await recordKeyChange(transaction, key, 'key_revoked', origin);
    await recordEvent(transaction, { accountId, type: 'key.revoked', subject: uuid, details: describeKey(key) });
    if (actor !== undefined) {
      const { prefix } = key;
      await recordAuditEntry(transaction, actor, {
        action: 'key.revoke',
        accountId,
        targetId: uuid,
        before: { prefix, revoked: false },
        after: { prefix, revoked: true },
      });
    }
    return true;
  });
  if (isRevoked && actor !== undefined) logger.info({ accountId, key: uuid }, 'API key revoked by staff');
  return isRevoked;
}

/** Number of keys that one run revokes. The next run continues. */
const BATCH_SIZE = 500;

/**
 * Revokes API keys that have expired, so that they no longer count toward the maximum of their account. Requests reject
 * them from their expiry on. A key whose expiry is moved meanwhile stays active.
 * @throws Error of the first key that could not be revoked, after the others were.
 */
export async function revokeExpiredApiKeys(): Promise<void> {
  const expiredBy = now();
  const keys = await ApiKey.query()
    .whereNull('revoked_at')
    .where('expires_at', '<=', expiredBy)
    .orderBy('expires_at')
    .limit(BATCH_SIZE)
    .select('account_id', 'uuid');
  const errors: unknown[] = [];
  for (const { account_id: accountId, uuid } of keys) {
    try {
      await revokeApiKey(buildServiceCaller(accountId), uuid, { expiredBy });
    } catch (err) {
      logger.warn({ err, accountId, key: uuid }, 'expired API key not revoked; next run will retry');
      errors.push(err);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/**
 * Parses the options of a request.
 * @param stored options of the key until now. Those that the request does not contain are not part of the result.
 * @throws ServiceError validation_error
 */
function parseKeyOptions(input: KeyOptionsInput, stored = NO_KEY_OPTIONS): Partial<KeyOptions> {
  const { scopes, expires_at: expiresAt, allowed_models: models, allowed_ips: ips } = input;
  return {
    ...(scopes === undefined ? {} : { scopes: scopes && ALL_KEY_SCOPES.filter((scope) => scopes.includes(scope)) }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt === null ? null : parseExpiry(expiresAt) }),
    ...(models === undefined ? {} : { allowed_models: models && parseModels(models, stored.allowed_models ?? []) }),
    ...(ips === undefined ? {} : { allowed_ips: ips && parseRanges(ips) }),
  };
}

/** Lists the names of the options that differ from those of a key. */
function listChangedOptions(stored: KeyOptions, options: Partial<KeyOptions>): string[] {
  const names = Object.keys(options) as (keyof KeyOptions)[];
  return names.filter((name) => !isDeepStrictEqual(stored[name], options[name]));
}

function parseExpiry(text: string): Date {
  const expiresAt = parseInstant(text);
  if (expiresAt === null) throw invalidOptionError('expires_at', ` must be ${INSTANT_FORM}.`);
  if (expiresAt <= now()) throw invalidOptionError('expires_at', ' must be in the future.');
  return expiresAt;
}

/** @param kept models that the key has. They may have been removed from the catalog. */
function parseModels(slugs: readonly string[], kept: readonly string[]): string[] {
  const { models, modelsBySlug } = getCatalog();
  const unknown = slugs.find((slug) => !modelsBySlug.has(slug) && !kept.includes(slug));
  if (unknown !== undefined) {
    const listed = models.flatMap(({ slug, hidden }) => (hidden ? [] : [slug]));
    throw invalidOptionError(
      'allowed_models',
      `: ${quote(unknown)} is not a model. The models are: ${listBriefly(listed)}.`,
    );
  }
  const chosen = new Set(slugs);
  // The order has no meaning: the same models are no change.
  return isDeepStrictEqual(chosen, new Set(kept)) ? [...kept] : [...chosen];
}

function parseRanges(texts: readonly string[]): string[] {
  const ranges = texts.map((text) => {
    const parsed = parseIpRange(text);
    if ('range' in parsed) return parsed.range;
    throw invalidOptionError('allowed_ips', `: ${quote(text)} ${parsed.problem}.`);
  });
  return [...new Set(ranges)];
}

/** Quotes a value of a request in a form that an error detail can repeat. */
function quote(text: string): string {
  return `“${text.slice(0, 64).toWellFormed().replaceAll('\u0000', '\uFFFD')}”`;
}

function invalidOptionError(field: string, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field}${problem}`, { field });
}
