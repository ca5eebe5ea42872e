import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import type { Caller } from './caller.ts';
import { getPerson, lockPerson, patchPerson } from './people.ts';

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

/** Profile fields that people set for themselves. */
export interface ProfileInput {
  first_name?: string;
  language?: string;
  use_case?: string;
}

export async function getAccount(accountId: number): Promise<Account> {
  return Account.query().findById(accountId).throwIfNotFound();
}

/**
 * Changes the profile of the person behind a session.
 * @throws ServiceError validation_error if the account is being deleted.
 */
export async function updateProfile(caller: Caller, profile: ProfileInput): Promise<void> {
  if (Object.keys(profile).length === 0) return;
  assertNotDeleting(await getAccount(caller.accountId));
  const { id } = await getPerson(caller);
  await Account.transaction(async (transaction) => {
    const locked = await lockPerson(transaction, id);
    if (locked.person.erased_at === null) await patchPerson(transaction, locked, profile);
  });
}
