import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import { Session } from '../../tables/Session.ts';
import { revokeAccountGrants } from '../oauth/grants.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { disableEndpoints } from '../webhooks/endpointState.ts';
import { findTestAccountId, lockTestAccount } from '../accounts/testAccounts.ts';

/** Number of credentials that were ended. */
export interface RevokedAccess {
  sessions: number;
  keys: number;
  grants: number;
}

/**
 * Ends all sessions, API keys and OAuth grants of an account whose row the transaction has locked.
 * @param keptSession hash of a session cookie that stays valid.
 * @param since keys and grants that were created before this time stay valid.
 */
export async function revokeAccess(
  transaction: Transaction,
  accountId: number,
  { keptSession = null, since = new Date(0) }: { keptSession?: Buffer | null; since?: Date } = {},
): Promise<RevokedAccess> {
  const sessions = await Session.query(transaction)
    .delete()
    .where({ account_id: accountId })
    .modify((others) => void (keptSession !== null && others.whereNot('token_hash', keptSession)));
  const keys = await ApiKey.query(transaction)
    .patch({ revoked_at: now() })
    .where({ account_id: accountId })
    .whereNull('revoked_at')
    .where('created_at', '>=', since)
    .returning(['uuid', 'name', 'prefix']);
  for (const { uuid: subject, ...details } of keys.map(({ uuid, name, prefix }) => ({ uuid, name, prefix }))) {
    await recordEvent(transaction, { accountId, type: 'key.revoked', subject, details });
  }
  const grants = await revokeAccountGrants(accountId, transaction, since);
  await Account.query(transaction).findById(accountId).decrement('active_key_count', keys.length);
  await lockTestAccount(transaction, accountId);
  return { sessions, keys: keys.length, grants };
}

/** Result of revoking all access. Endpoints that a stolen credential created would keep receiving data. */
export interface RevokedAccessAndWebhooks extends RevokedAccess {
  /** Number of webhook endpoints that were disabled. */
  webhooks: number;
}

/**
 * Ends all credentials of an account whose row the transaction has locked, and disables its webhook endpoints.
 * @param since keys, grants and endpoints that were created, or endpoints changed, before this time stay.
 */
export async function revokeAccessAndWebhooks(
  transaction: Transaction,
  accountId: number,
  since = new Date(0),
): Promise<RevokedAccessAndWebhooks> {
  const revoked = await revokeAccess(transaction, accountId, { since });
  const testAccountId = await findTestAccountId(accountId, transaction);
  const webhooks = await disableEndpoints(transaction, accountId, since);
  const testWebhooks = testAccountId === null ? 0 : await disableEndpoints(transaction, testAccountId, since);
  return { ...revoked, webhooks: webhooks + testWebhooks };
}

/** Counts what `revokeAccessAndWebhooks` would end. */
export async function countActiveAccess(accountId: number): Promise<RevokedAccessAndWebhooks> {
  const [sessions, keys, grants, accounts] = await Promise.all([
    Session.query().where({ account_id: accountId }).resultSize(),
    ApiKey.query().where({ account_id: accountId }).whereNull('revoked_at').resultSize(),
    OAuthGrant.query().where({ account_id: accountId }).whereNull('revoked_at').resultSize(),
    Account.query().where({ id: accountId }).orWhere({ live_account_id: accountId }).select('webhook_count'),
  ]);
  const webhooks = accounts.reduce((sum, { webhook_count: count }) => sum + count, 0);
  return { sessions, keys, grants, webhooks };
}
