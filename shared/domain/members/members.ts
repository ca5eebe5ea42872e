import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { isStaffEmail } from '../../lib/staffEmails.ts';
import { type CreditLimit, formatLimit } from '../../presenters/spendingLimit.ts';
import { ServiceError } from '../../spec/errors.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { type AssignableRole, hasRight, type MemberRole } from '../../spec/roles.ts';
import { Account } from '../../tables/Account.ts';
import { Member } from '../../tables/Member.ts';
import { Person } from '../../tables/Person.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import { detachPayoutAccount } from '../affiliates/payoutAccounts.ts';
import { type Caller, requireMember } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { describeRecipient, pickOwnerColumns } from '../accounts/people.ts';
import { removeStaffRightsOfKeys } from '../accounts/staffRights.ts';
import { hasActedAsStaff } from '../audit/staffAccounts.ts';
import { describeOrigin, recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { assertFormNotStale } from '../accounts/staleForm.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { describePerson, endMembership } from '../signIn/endMembership.ts';
import { type RevokedAccess, revokeCredentials } from '../signIn/revokeAccess.ts';
import { revokeSentInvitations } from '../signIn/revokeInvitations.ts';
import { listMemberLimits } from '../spendingLimits/listSpendingLimits.ts';
import { setSpendingLimit } from '../spendingLimits/setSpendingLimit.ts';

/** A member as the others see it. */
export interface ListedMember extends Pick<Member, 'number' | 'uuid' | 'role' | 'created_at' | 'removed_at'> {
  email: string;
  first_name: string;
  /** Active API keys that it made, and applications that it connected. */
  api_keys: number;
  applications: number;
}

const LISTED_MEMBER = `
   SELECT m.number, m.uuid, m.role, m.created_at, m.removed_at, p.email, p.first_name,
          (SELECT cast(count(*) AS int) FROM api_keys k
            WHERE k.account_id = m.account_id AND k.member_number = m.number AND k.revoked_at IS NULL) AS api_keys,
          (SELECT cast(count(DISTINCT g.client_id) AS int) FROM oauth_grants g
            WHERE g.account_id = m.account_id AND g.member_number = m.number
              AND g.connected_at IS NOT NULL AND g.revoked_at IS NULL) AS applications
     FROM members m JOIN people p ON p.id = m.person_id`;

const LIST_MEMBERS = prepared(
  'list_members',
  `${LISTED_MEMBER} WHERE m.account_id = :accountId AND m.number BETWEEN :oldest AND :newest ORDER BY m.number DESC`,
);

const FIND_MEMBER = prepared('find_member', `${LISTED_MEMBER} WHERE m.account_id = :accountId AND m.uuid = :uuid`);

/** Lists the members of an account, newest first, including removed ones. */
export async function listMembers(accountId: number, page: number): Promise<ListPage<ListedMember>> {
  const account = await Account.query().findById(accountId).select('member_count').throwIfNotFound();
  const { member_count: totalItems } = account;
  const newest = totalItems - getPageOffset(page);
  if (newest <= 0) return { page, totalItems, items: [] };
  const bindings = { accountId, oldest: newest - PAGE_SIZE + 1, newest };
  return { page, totalItems, items: await runStatement<ListedMember>(LIST_MEMBERS, bindings) };
}

const LIST_MEMBERS_FOR_STAFF = prepared(
  'list_members_for_staff',
  `${LISTED_MEMBER} JOIN accounts a ON a.id = m.account_id
    WHERE a.id = :accountId AND (m.removed_at IS NULL OR m.number > a.member_count - ${PAGE_SIZE})
    ORDER BY m.number DESC`,
);

/** Lists all members of an account, newest first, with those of the latest that were removed. */
export async function listMembersForStaff(accountId: number): Promise<ListedMember[]> {
  return runStatement<ListedMember>(LIST_MEMBERS_FOR_STAFF, { accountId });
}

/** Finds a member, also a removed one. @throws ServiceError not_found */
export async function findMember(accountId: number, uuid: string): Promise<ListedMember> {
  const [member] = await runStatement<ListedMember>(FIND_MEMBER, { accountId, uuid });
  if (member === undefined) throw memberNotFoundError();
  return member;
}

function memberNotFoundError(): ServiceError {
  return new ServiceError('not_found', 'Not found. This account has no member with that UUID.');
}

/** A member of the account of a caller, which the transaction has locked. */
async function requireLockedMember(
  transaction: Transaction,
  { accountId }: Caller,
  uuid: string,
  { mayBeRemoved = false } = {},
): Promise<Member> {
  const member = await Member.query(transaction).findOne({ account_id: accountId, uuid });
  if (member === undefined || (member.removed_at !== null && !mayBeRemoved)) throw memberNotFoundError();
  return member;
}

/** Changes of a member; null removes the limit. */
export interface MemberChange {
  role?: AssignableRole;
  credit_limit?: CreditLimit | null;
  /** Member that the caller has read, from {@link formatMember}. Without it, every role and limit is overwritten. */
  expected?: string;
}

/** Formats the role and the limit of a member, such as `developer 200/day`, to detect later changes. */
export function formatMember({ role }: Pick<Member, 'role'>, limit: CreditLimit | null): string {
  return `${role} ${formatLimit(limit)}`;
}

/**
 * Changes the role or the spending limit of a member, effective for its next request and that of its keys and
 * applications. One who may not invite any more leaves no open invitation.
 * @throws ServiceError not_found; validation_error for the role of the owner, the caller's own, and its own limit
 *   unless it is the owner, or if the member would be changed and is not the expected one; insufficient_scope or
 *   invalid_api_key if the caller's role or session changed meanwhile.
 */
export async function changeMember(
  caller: Caller,
  uuid: string,
  { role, credit_limit: limit, expected }: MemberChange,
  origin: RequestOrigin,
): Promise<void> {
  const { accountId } = caller;
  await withAccountOfCaller(caller, async (transaction, account) => {
    const member = await requireLockedMember(transaction, caller, uuid);
    const { number, role: former } = member;
    const present = formatMember(member, (await listMemberLimits(accountId, transaction)).get(number) ?? null);
    const isRoleChanged = role !== undefined && role !== former;
    const isOwn = number === requireMember(caller).number;
    if (isRoleChanged) {
      if (former === 'owner')
        throw new ServiceError('validation_error', 'role: the owner has this role until the account is handed over.', {
          field: 'role',
        });
      if (isOwn)
        throw new ServiceError('validation_error', 'role: another member with the right must change your own role.', {
          field: 'role',
        });
      await member.$query(transaction).patch({ role });
      const message = { account: account.email, role, ...(await describeRecipient(transaction, member)) };
      await recordEvent(transaction, { accountId, type: 'member.role_changed', subject: uuidv7(), details: message });
      if (!hasRight(role, 'manageMembers')) await revokeSentInvitations(transaction, member, origin);
    }
    const isLimitChanged =
      limit !== undefined && (await setSpendingLimit(transaction, accountId, { memberNumber: number }, limit));
    if (isLimitChanged && isOwn && former !== 'owner')
      throw new ServiceError('validation_error', 'credit_limit: another member must change your own limit.', {
        field: 'credit_limit',
      });
    if (!isRoleChanged && !isLimitChanged) return;
    assertFormNotStale('This member was changed', { expected, present });
    const details: Record<string, string | number> = {
      member: await describePerson(transaction, member),
      ...(isRoleChanged ? { role, former_role: former } : {}),
      ...(isLimitChanged ? { changed: 'credit_limit' } : {}),
    };
    await recordSecurityEvent(transaction, { accountId, event: 'member_changed', origin, details, subject: { uuid } });
  });
}

/**
 * Removes a member: its sessions and invitations end, and its keys and applications stay with its last role, unless
 * they are revoked. A person who is not a member of any account then is erased.
 * @param revokesAccess revokes the keys and applications that it made.
 * @throws ServiceError not_found; validation_error for the owner; insufficient_scope or invalid_api_key if the caller's
 *   role or session changed meanwhile.
 */
export async function removeMember(
  caller: Caller,
  uuid: string,
  { revokesAccess }: { revokesAccess: boolean },
  origin: RequestOrigin,
): Promise<RevokedAccess> {
  return withAccountOfCaller(caller, async (transaction) => {
    const member = await requireLockedMember(transaction, caller, uuid);
    return endMembership(transaction, member, { revokesAccess, event: 'member_removed', origin });
  });
}

/**
 * Ends the membership of the caller.
 * @throws ServiceError validation_error for the owner.
 */
export async function leaveAccount(caller: Caller, origin: RequestOrigin): Promise<RevokedAccess> {
  return withAccountOfCaller(caller, async (transaction) => {
    const { number } = requireMember(caller);
    const member = await Member.query(transaction).findById([caller.accountId, number]).throwIfNotFound();
    return endMembership(transaction, member, { revokesAccess: false, event: 'member_left', origin });
  });
}

/**
 * Revokes the API keys and applications of a member, also of a removed one.
 * @throws ServiceError not_found
 */
export async function revokeMemberAccess(
  caller: Caller,
  uuid: string,
  origin: RequestOrigin,
): Promise<Omit<RevokedAccess, 'sessions'>> {
  const { accountId } = caller;
  return withAccountOfCaller(caller, async (transaction) => {
    const member = await requireLockedMember(transaction, caller, uuid, { mayBeRemoved: true });
    const revoked = await revokeCredentials(transaction, accountId, { memberNumber: member.number });
    if (revoked.keys + revoked.grants === 0) return revoked;
    const details = { member: await describePerson(transaction, member), sessions: 0, ...revoked };
    await recordSecurityEvent(transaction, { accountId, event: 'access_revoked', origin, details, subject: { uuid } });
    return revoked;
  });
}

/**
 * Hands an account over to another member, who gets its address and messages, and its payouts once they are set up
 * again; the caller becomes an admin. The customer at the payment processor stays, with the address that it has there.
 * @throws ServiceError not_found; validation_error while the account is being deleted, for the caller itself, for
 *   staff, and for an account that has acted as staff.
 */
export async function handOverAccount(caller: Caller, uuid: string, origin: RequestOrigin): Promise<void> {
  const { accountId } = caller;
  await withAccountOfCaller(caller, async (transaction, account) => {
    assertNotDeleting(account);
    const heir = await requireLockedMember(transaction, caller, uuid);
    const former = await Member.query(transaction).findOne({ account_id: accountId, role: 'owner' }).throwIfNotFound();
    if (!hasRight(requireMember(caller).role, 'own') || heir.number === former.number)
      throw new ServiceError('validation_error', 'Choose another member of the account.');
    if (await hasActedAsStaff(transaction, accountId))
      throw new ServiceError(
        'validation_error',
        'This account has acted as staff and cannot be handed over: the audit log names its owner.',
      );
    const person = await Person.query(transaction).findById(heir.person_id).forNoKeyUpdate().throwIfNotFound();
    // An account of staff cannot be suspended.
    if (isStaffEmail(person.email))
      throw new ServiceError(
        'validation_error',
        `${person.email} is an address of staff, who cannot take over an account. Choose another member, or invite the person with another address.`,
      );
    // In this order: an account never has two owners.
    await former.$query(transaction).patch({ role: 'admin' });
    await heir.$query(transaction).patch({ role: 'owner' satisfies MemberRole });
    await account.$query(transaction).patch(pickOwnerColumns(person));
    await removeStaffRightsOfKeys(transaction, accountId);
    await detachPayoutAccount(transaction, accountId);
    await recordHandOver(transaction, former, heir, origin);
    const details = { member: person.email };
    await recordSecurityEvent(transaction, {
      accountId,
      event: 'account_handed_over',
      origin,
      details,
      subject: { uuid },
    });
  });
}

/** Records the events from which both people of a hand-over receive a message. */
async function recordHandOver(
  transaction: Transaction,
  former: Member,
  heir: Member,
  origin: RequestOrigin,
): Promise<void> {
  const { account_id: accountId } = heir;
  const [subject, from, to] = [
    uuidv7(),
    await describeRecipient(transaction, former),
    await describeRecipient(transaction, heir),
  ];
  const given = { owner: to.recipient_email, ...describeOrigin(origin), ...from };
  await recordEvent(transaction, { accountId, type: 'account.handed_over', subject, details: given });
  const received = { former_owner: from.recipient_email, ...to };
  await recordEvent(transaction, { accountId, type: 'account.received', subject, details: received });
}
