import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import { UnreadableSecretError } from '../../lib/encryption.ts';
import { ServiceError } from '../../spec/errors.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import type { RequestOrigin } from '../accounts/securityEvents.ts';
import { lockAccount, withAccountLock } from '../credits/ledger.ts';
import { replaceKeys } from './rotateSecret.ts';
import { generateSigningKeys, openEndpointSecret, sealKeys } from './signingKeys.ts';

/**
 * Creates the default endpoints that accounts do not have yet. A default endpoint has no address: its deliveries go to
 * the `webhook_url` of single generations and are signed with its keys.
 */
export async function ensureDefaultEndpoint(transaction: Transaction, accountIds: readonly number[]): Promise<void> {
  const existing = await WebhookEndpoint.query(transaction)
    .select('account_id')
    .whereIn('account_id', [...accountIds])
    .whereNull('url');
  const known = new Set(existing.map(({ account_id: accountId }) => accountId));
  // In the order of accounts, so that concurrent transactions cannot deadlock.
  const missing = [...new Set(accountIds)].filter((accountId) => !known.has(accountId)).sort((a, b) => a - b);
  if (missing.length === 0) return;
  await WebhookEndpoint.query(transaction)
    .insert(missing.map(buildDefaultEndpoint))
    // Only that of the partial index of default endpoints can occur.
    .onConflict()
    .ignore();
}

function buildDefaultEndpoint(accountId: number) {
  const uuid = uuidv7();
  const at = now();
  return {
    uuid,
    account_id: accountId,
    url: null,
    ...sealKeys(uuid, generateSigningKeys()),
    created_at: at,
    updated_at: at,
  };
}

/**
 * Returns the default endpoint of an account, locked after the account. An erasure that runs at the same time would not
 * delete what is created beside it.
 * @throws ServiceError not_found if the account was erased.
 */
async function lockOrCreate(transaction: Transaction, accountId: number): Promise<WebhookEndpoint> {
  const { erased_at: erasedAt } = await lockAccount(transaction, accountId);
  if (erasedAt !== null) throw new ServiceError('not_found', 'Not found. The account was deleted.');
  await ensureDefaultEndpoint(transaction, [accountId]);
  return WebhookEndpoint.query(transaction)
    .findOne({ account_id: accountId, url: null })
    .forNoKeyUpdate()
    .throwIfNotFound();
}

/** Returns whether an account has used its default endpoint: it is created on first use. */
export async function hasDefaultEndpoint(accountId: number): Promise<boolean> {
  return (await WebhookEndpoint.query().findOne({ account_id: accountId, url: null }).select('id')) !== undefined;
}

/** Keys that sign the events of generations with a `webhook_url`. */
export interface DefaultSecret {
  /** Identifies the default endpoint in the list of its deliveries. */
  uuid: string;
  secret: string;
  publicKey: string;
}

/**
 * Returns the default secret of an account. Creates it on first use.
 * @throws ServiceError validation_error if it can no longer be read, after a change of SECRET_KEY; not_found if the
 * account was erased.
 */
export async function getDefaultSecret(accountId: number): Promise<DefaultSecret> {
  const existing = await WebhookEndpoint.query().findOne({ account_id: accountId, url: null });
  const endpoint =
    existing ?? (await withAccountLock(accountId, (transaction) => lockOrCreate(transaction, accountId)));
  return { uuid: endpoint.uuid, secret: readSecret(endpoint), publicKey: endpoint.public_key };
}

function readSecret(endpoint: WebhookEndpoint): string {
  try {
    return openEndpointSecret(endpoint);
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    throw new ServiceError(
      'validation_error',
      'The default secret can no longer be read. Rotate it to get another one.',
    );
  }
}

/**
 * Replaces the default secret of an account. The former one signs as well for 24 hours.
 * @param caller whose session must not have ended meanwhile.
 * @param accountId its account, or the test account of that.
 */
export async function rotateDefaultSecret(
  caller: Caller,
  accountId: number,
  origin: RequestOrigin,
): Promise<DefaultSecret> {
  const { endpoint, secret } = await withAccountOfCaller(caller, async (transaction) => {
    // The account of the session is locked before its test account, as everywhere.
    return replaceKeys(transaction, await lockOrCreate(transaction, accountId), origin);
  });
  return { uuid: endpoint.uuid, secret, publicKey: endpoint.public_key };
}
