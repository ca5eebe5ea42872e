import type { Transaction } from 'objection';
import { ServiceError } from '../../spec/errors.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Session } from '../../tables/Session.ts';
import type { Caller } from './accounts.ts';

/**
 * Verifies that the key of a caller is valid and has not been changed since the request was admitted, or that its session is
 * open. The transaction has locked the account, as every change of a key and every revocation by staff does.
 * @throws ServiceError insufficient_scope for a key, invalid_api_key for a session.
 */
export async function assertCredentialUnchanged(transaction: Transaction, caller: Caller | undefined): Promise<void> {
  if (caller?.sessionHash !== undefined) {
    const session = await Session.query(transaction).findById(caller.sessionHash).select('uuid');
    if (session !== undefined) return;
    const detail = 'The session ended while the request ran. Nothing was created or changed: sign in again.';
    throw new ServiceError('invalid_api_key', detail);
  }
  if (caller === undefined || caller.keyHash === null) return;
  const key = await ApiKey.query(transaction).findById(caller.keyHash).whereNull('revoked_at').select('version');
  if (key?.version === (caller.keyVersion ?? 0)) return;
  const detail = 'The API key of this request was changed or revoked while it ran. Nothing was created or changed.';
  throw new ServiceError('insufficient_scope', detail);
}
