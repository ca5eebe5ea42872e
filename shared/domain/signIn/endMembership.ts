import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Member } from '../../tables/Member.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import { Person } from '../../tables/Person.ts';
import { Session } from '../../tables/Session.ts';
import { describeRecipient } from '../accounts/people.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { erasePersonWithoutAccount } from './erasePerson.ts';
import { type RevokedAccess, revokeCredentials } from './revokeAccess.ts';
import { revokeSentInvitations } from './revokeInvitations.ts';

/** The end of a membership. */
export interface Departure {
  /** Also revokes the keys and applications that the member made. */
  revokesAccess: boolean;
  event: 'member_removed' | 'member_left';
  origin: RequestOrigin;
}

/**
 * Ends a membership of an account that the transaction has locked, with its sessions and the open invitations that it
 * sent. A person who is not a member of any account then is erased.
 * @throws ServiceError validation_error for the owner.
 */
export async function endMembership(
  transaction: Transaction,
  member: Member,
  { revokesAccess, event, origin }: Departure,
): Promise<RevokedAccess> {
  const { account_id: accountId, number: memberNumber, role, uuid, person_id: personId } = member;
  if (role === 'owner')
    throw new ServiceError(
      'validation_error',
      'The owner cannot be removed. Hand the account over to another member first.',
    );
  const details: Record<string, string | number> = { member: await describePerson(transaction, member), role };
  const sessions = await Session.query(transaction)
    .where({ account_id: accountId, member_number: memberNumber })
    .delete();
  const revoked = revokesAccess
    ? await revokeCredentials(transaction, accountId, { memberNumber })
    : { keys: 0, grants: 0 };
  await revokeSentInvitations(transaction, member, origin);
  await revokePendingApprovals(transaction, member);
  if (event === 'member_removed') await recordRemoval(transaction, member);
  await member.$query(transaction).patch({ removed_at: now() });
  await erasePersonWithoutAccount(transaction, personId);
  const ended = { sessions, ...revoked };
  await recordSecurityEvent(transaction, {
    accountId,
    event,
    origin,
    details: { ...details, ...ended },
    subject: { uuid },
  });
  return ended;
}

/** Records the event from which the removed person receives a message. The person may be erased afterwards. */
async function recordRemoval(transaction: Transaction, member: Member): Promise<void> {
  const { account_id: accountId, uuid } = member;
  const { email: account } = await Account.query(transaction).findById(accountId).select('email').throwIfNotFound();
  const details = { account, ...(await describeRecipient(transaction, member)) };
  await recordEvent(transaction, { accountId, type: 'member.removed', subject: uuid, details });
}

/** Returns the address of a member. */
export async function describePerson(transaction: Transaction, { person_id: id }: Member): Promise<string> {
  return (await Person.query(transaction).findById(id).select('email').throwIfNotFound()).email;
}

/**
 * Revokes approvals whose authorization code was not exchanged yet: what a removed member leaves exists at the removal.
 */
async function revokePendingApprovals(transaction: Transaction, { account_id, number }: Member): Promise<void> {
  await OAuthGrant.query(transaction)
    .where({ account_id, member_number: number })
    .whereNull('connected_at')
    .whereNull('revoked_at')
    .patch({ revoked_at: now() });
}

/** Removes the people who joined a locked account since a time, with all that they made. */
export async function removeMembersSince(
  transaction: Transaction,
  accountId: number,
  since: Date,
  origin: RequestOrigin,
): Promise<void> {
  const joined = await Member.query(transaction)
    .where({ account_id: accountId })
    .whereNot({ role: 'owner' })
    .whereNull('removed_at')
    .where('created_at', '>=', since)
    .orderBy('person_id');
  const departure = { revokesAccess: true, event: 'member_removed', origin } as const;
  for (const member of joined) await endMembership(transaction, member, departure);
}
