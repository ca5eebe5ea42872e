import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';

/**
 * Rejects what an account that is being deleted must not start.
 * @param field field of the request that the error names, if any.
 * @throws ServiceError validation_error
 */
export function assertNotDeleting({ deletion_requested_at }: Account, field?: string): void {
  if (deletion_requested_at === null) return;
  const sentence = 'account is being deleted. Undo the deletion on the account page first.';
  if (field === undefined) throw new ServiceError('validation_error', `The ${sentence}`);
  throw new ServiceError('validation_error', `${field}: the ${sentence}`, { field });
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
