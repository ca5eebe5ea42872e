import type { Transaction } from 'objection';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Member } from '../../tables/Member.ts';
import { Person } from '../../tables/Person.ts';
import { endMembership } from '../signIn/endMembership.ts';
import { endSessions, type RevokedAccess, type RevokedAllAccess, revokeAllAccess } from '../signIn/revokeAccess.ts';
import { getAccount } from '../accounts/accounts.ts';
import { recordSecurityEvent, SERVICE_ORIGIN } from '../accounts/securityEvents.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';

/**
 * Ends all sessions of an account. API keys and applications keep their access.
 * @returns the number of sessions that were ended. Without any, nothing is recorded.
 */
export async function signOutAccount(accountId: number, actor: Actor): Promise<number> {
  return withAccountLock(accountId, async (transaction, account) => {
    const sessions = await endSessions(transaction, accountId);
    if (sessions === 0) return 0;
    await recordRevocation(transaction, accountId, { sessions, keys: 0, grants: 0 });
    await recordAuditEntry(transaction, actor, {
      action: 'account.sign_out',
      accountId,
      targetId: account.uuid,
      before: { sessions },
      after: { sessions: 0 },
    });
    return sessions;
  });
}

/**
 * Ends all sessions, API keys and OAuth grants of an account, disables its webhook endpoints and revokes its open
 * invitations. The owner and members can sign in again.
 * @returns the number of each that were ended. Without any, nothing is recorded.
 */
export async function revokeAccountAccess(accountId: number, actor: Actor): Promise<RevokedAllAccess> {
  const revoked = await withAccountLock(accountId, async (transaction, account) => {
    const before = await revokeAllAccess(transaction, accountId, SERVICE_ORIGIN);
    if (!isAnyRevoked(before)) return before;
    await recordRevocation(transaction, accountId, before);
    await recordAuditEntry(transaction, actor, {
      action: 'account.revoke_access',
      accountId,
      targetId: account.uuid,
      before: { ...before },
      after: { sessions: 0, keys: 0, grants: 0, webhooks: 0, invitations: 0 },
    });
    return before;
  });
  logger.info({ accountId, ...revoked }, 'access revoked by staff');
  return revoked;
}

/**
 * Removes a member who is not the owner, and revokes the API keys and applications that it made, as for a person whom
 * an attacker has let in.
 * @returns whether it was a member. Otherwise, nothing is recorded.
 * @throws ServiceError validation_error for the owner.
 */
export async function removeMemberByStaff(
  { account_id: accountId, number }: Pick<Member, 'account_id' | 'number'>,
  actor: Actor,
): Promise<boolean> {
  return withAccountLock(accountId, async (transaction) => {
    const member = await Member.query(transaction).findById([accountId, number]).throwIfNotFound();
    if (member.removed_at !== null) return false;
    const departure = { revokesAccess: true, event: 'member_removed', origin: SERVICE_ORIGIN } as const;
    const ended = await endMembership(transaction, member, departure);
    await recordAuditEntry(transaction, actor, {
      action: 'member.remove',
      accountId,
      targetId: member.uuid,
      before: { role: member.role, ...ended },
      after: { role: null, sessions: 0, keys: 0, grants: 0 },
    });
    return true;
  });
}

/** Shows the owner in the security log what staff ended. */
export async function recordRevocation(
  transaction: Transaction,
  accountId: number,
  revoked: RevokedAccess | RevokedAllAccess,
): Promise<void> {
  const details = { ...revoked };
  await recordSecurityEvent(transaction, { accountId, event: 'access_revoked', origin: SERVICE_ORIGIN, details });
}

/** Returns whether anything was ended. */
export function isAnyRevoked({ sessions, keys, grants, webhooks, invitations }: RevokedAllAccess): boolean {
  return sessions + keys + grants + webhooks + invitations > 0;
}

/** A member of any account. */
export interface MemberForStaff {
  member: Member;
  /** Address of the person. */
  email: string;
  account: Account;
}

/** Finds a member of any account by its uuid, also a removed one. @throws ServiceError not_found */
export async function findMemberForStaff(uuid: string): Promise<MemberForStaff> {
  const member = await Member.query().findOne({ uuid });
  if (member === undefined) throw new ServiceError('not_found', 'Not found. There is no member with that UUID.');
  const { email } = await Person.query().findById(member.person_id).select('email').throwIfNotFound();
  return { member, email, account: await getAccount(member.account_id) };
}

/** Finds an API key of any account by its uuid. @throws ServiceError not_found */
export async function findApiKeyForStaff(uuid: string): Promise<ApiKey> {
  const key = await ApiKey.query().findOne({ uuid });
  if (key !== undefined) return key;
  throw new ServiceError('not_found', 'Not found. There is no API key with that UUID.');
}
