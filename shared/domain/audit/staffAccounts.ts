import type { Transaction } from 'objection';
import { Account } from '../../tables/Account.ts';
import { AuditEntry } from '../../tables/AuditEntry.ts';
import { Member } from '../../tables/Member.ts';

/**
 * Lists the ids of the accounts that belong to the owner of an account. A member of staff may own several, and has
 * staff rights in each: what one person may do alone counts for all of them.
 */
export async function listAccountsWithSameOwner(transaction: Transaction, accountId: number): Promise<number[]> {
  const email = Account.query(transaction).findById(accountId).select('email');
  const accounts = await Account.query(transaction).where('email', email).whereNull('live_account_id').select('id');
  return accounts.map(({ id }) => id);
}

/**
 * Returns whether the owner of an account of staff is a member of an account, which may be the same one. Members do not
 * credit an account that they use themselves.
 */
export async function hasJoined(transaction: Transaction, staffAccountId: number, accountId: number): Promise<boolean> {
  const owner = Member.query(transaction).where({ account_id: staffAccountId, role: 'owner' }).select('person_id');
  const members = Member.query(transaction).where({ account_id: accountId }).whereNull('removed_at');
  return (await members.whereIn('person_id', owner).resultSize()) > 0;
}

/** Returns whether an account has acted as staff. The audit log then names it as the author. */
export async function hasActedAsStaff(transaction: Transaction, accountId: number): Promise<boolean> {
  return (await AuditEntry.query(transaction).findOne({ actor_account_id: accountId }).select('number')) !== undefined;
}
