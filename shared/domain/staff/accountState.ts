import type { Account } from '../../tables/Account.ts';

/** State of an account for staff, and since when it has it; null if it always had. */
export interface AccountState {
  state: 'erased' | 'deletion requested' | 'suspended' | 'active';
  since: Date | null;
}

/** Describes the state of an account. Of several states it is the one that is harder to undo. */
export function describeAccountState({
  erased_at: erasedAt,
  deletion_requested_at: requestedAt,
  suspended_at: suspendedAt,
}: Pick<Account, 'erased_at' | 'deletion_requested_at' | 'suspended_at'>): AccountState {
  if (erasedAt !== null) return { state: 'erased', since: erasedAt };
  if (requestedAt !== null) return { state: 'deletion requested', since: requestedAt };
  if (suspendedAt !== null) return { state: 'suspended', since: suspendedAt };
  return { state: 'active', since: null };
}
