import type { Transaction } from 'objection';
import { ServiceError } from '../../spec/errors.ts';
import { includesRights } from '../../spec/roles.ts';
import { Member } from '../../tables/Member.ts';
import type { Caller } from './caller.ts';

/** A program that acts with the roles of members, and what others may do with it. */
export interface ActingProgram {
  /** Numbers of the members who made it. */
  memberNumbers: readonly number[];
  /** Begins the detail of the error. */
  name: string;
  /** Change that requires their rights. */
  change: string;
  /** Change that is allowed instead. */
  instead: string;
}

/**
 * Rejects the change of a program that acts with rights which the role of the caller lacks: without its restrictions,
 * the program would give them to everyone who has it.
 * @throws ServiceError insufficient_scope
 */
export async function assertEnoughRights(
  transaction: Transaction,
  { accountId, member }: Caller,
  { memberNumbers, name, change, instead }: ActingProgram,
): Promise<void> {
  if (member === undefined) return;
  const members = await Member.query(transaction)
    .where({ account_id: accountId })
    .whereIn('number', [...memberNumbers])
    .select('role');
  const lacking = members.find(({ role }) => !includesRights(member.role, role));
  if (lacking === undefined) return;
  const detail = `${name} acts with the role ${lacking.role}, and your role is ${member.role}: a member whose role has as many rights can ${change}. You can ${instead}.`;
  throw new ServiceError('insufficient_scope', detail);
}
