import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { config } from '../../lib/config.ts';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { TEST_PARALLEL_LIMIT } from '../../spec/testMode.ts';
import { Account } from '../../tables/Account.ts';

/**
 * Test accounts: what a test key does happens in a second account, which belongs to the live one. Everything is scoped
 * by account, so test data never mixes with live data. See docs/adr/0012-test-accounts.md.
 */

/** @throws ServiceError validation_error unless this service has an upstream for test mode. */
export function requireTestMode(): void {
  if (config.TEST_UPSTREAM_URL !== undefined) return;
  throw new ServiceError(
    'validation_error',
    'mode: this service has no test mode. Leave out mode, or set it to live.',
    {
      field: 'mode',
    },
  );
}

/**
 * Finds the test account of a live account whose row the transaction has locked, or creates it.
 * @returns its id.
 */
export async function ensureTestAccount(transaction: Transaction, liveAccountId: number): Promise<number> {
  const found = await findTestAccountId(liveAccountId, transaction);
  if (found !== null) return found;
  const { suspended_at: suspendedAt } = await Account.query(transaction).findById(liveAccountId).throwIfNotFound();
  const uuid = uuidv7();
  const inserted = await Account.query(transaction).insert({
    uuid,
    live_account_id: liveAccountId,
    // Unique, and not an address: no one can sign in with it or receive messages.
    email: `test-mode:${uuid}`,
    social_provider: 'test',
    onboarding_step: 'complete',
    parallel_limit: TEST_PARALLEL_LIMIT,
    suspended_at: suspendedAt,
    created_at: now(),
  });
  return inserted.id;
}

/** Finds the test account of a live account; null if it has none. */
export async function findTestAccountId(liveAccountId: number, transaction?: Transaction): Promise<number | null> {
  const account = await Account.query(transaction).findOne({ live_account_id: liveAccountId }).select('id');
  return account?.id ?? null;
}

/** Finds the test account of a live account. @throws ServiceError not_found if it has none. */
export async function requireTestAccount(liveAccountId: number): Promise<number> {
  const testAccountId = await findTestAccountId(liveAccountId);
  if (testAccountId !== null) return testAccountId;
  throw new ServiceError('not_found', 'Not found. This account has no test mode yet: create a test key first.');
}

/** Applies a change of a live account, such as a suspension, to its test account as well. */
export async function patchTestAccount(
  transaction: Transaction,
  liveAccountId: number,
  change: Partial<Pick<Account, 'suspended_at' | 'deletion_requested_at'>>,
): Promise<void> {
  await Account.query(transaction).patch(change).where({ live_account_id: liveAccountId });
}

/**
 * Locks the test account of a live account that the transaction has locked, if it has one: charges that have read its
 * keys end before a change of a key is committed.
 */
export async function lockTestAccount(transaction: Transaction, liveAccountId: number): Promise<void> {
  await Account.query(transaction).where({ live_account_id: liveAccountId }).forNoKeyUpdate().select('id');
}

/** Returns the live account of a test account, or the account itself. */
export async function findLiveAccount(account: Account): Promise<Account> {
  if (account.live_account_id === null) return account;
  return Account.query().findById(account.live_account_id).throwIfNotFound();
}
