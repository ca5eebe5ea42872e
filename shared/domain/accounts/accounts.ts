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

export async function getAccount(accountId: number): Promise<Account> {
  return Account.query().findById(accountId).throwIfNotFound();
}
