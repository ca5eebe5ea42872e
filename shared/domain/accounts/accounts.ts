import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { assertNotDeleting } from './assertNotDeleting.ts';
import type { Caller } from './caller.ts';

export const ACCOUNT_SUSPENDED_DETAIL = 'The account is suspended. Contact support to have it reinstated.';

/** Builds the error for every use of a credential of a suspended account. */
export function accountSuspendedError(): ServiceError {
  return new ServiceError('account_suspended', ACCOUNT_SUSPENDED_DETAIL);
}

export const APPLICATION_DISCONNECTED_DETAIL = 'The application was disconnected from the account: connect it again.';

export const UNKNOWN_KEY_DETAIL = 'The API key is unknown or revoked.';

export const SESSION_ENDED_DETAIL = 'The session has ended: sign in again.';

export const SESSION_ENDED_MEANWHILE_DETAIL =
  'The session ended while the request ran. Nothing was created or changed: sign in again.';

/** Builds the error for a key that is not valid, or a session or an application that was ended while its request ran. */
export function invalidCredentialError({ credential: { kind } }: Pick<Caller, 'credential'>): ServiceError {
  const details = {
    key: UNKNOWN_KEY_DETAIL,
    session: SESSION_ENDED_DETAIL,
    token: APPLICATION_DISCONNECTED_DETAIL,
    service: UNKNOWN_KEY_DETAIL,
  };
  return new ServiceError('invalid_api_key', details[kind]);
}

/** Profile fields that the account owner can set. */
export interface ProfileInput {
  first_name?: string;
  language?: string;
  use_case?: string;
}

export async function getAccount(accountId: number): Promise<Account> {
  return Account.query().findById(accountId).throwIfNotFound();
}

/** @throws ServiceError validation_error if the account is being deleted. */
export async function updateProfile(accountId: number, profile: ProfileInput): Promise<Account> {
  const account = await getAccount(accountId);
  if (Object.keys(profile).length === 0) return account;
  assertNotDeleting(account);
  // Not to an account that was erased in the meantime.
  await Account.query().findById(accountId).whereNull('erased_at').patch(profile);
  return getAccount(accountId);
}
