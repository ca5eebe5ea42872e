import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { EMAIL_MAX_CHARACTERS, isEmail } from '../../lib/email.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import {
  INVITATION_DAYS,
  INVITATION_SENDS_MAX,
  INVITATIONS_PER_DAY,
  MEMBERS_MAX,
  PAGE_SIZE,
} from '../../spec/limits.ts';
import type { AssignableRole } from '../../spec/roles.ts';
import { Account } from '../../tables/Account.ts';
import { Identity } from '../../tables/Identity.ts';
import { Invitation } from '../../tables/Invitation.ts';
import { Member } from '../../tables/Member.ts';
import { Person } from '../../tables/Person.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import { type Caller, requireMember } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { findPersonOfCaller, getPerson, lockPerson } from '../accounts/people.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { openInvitations } from '../signIn/revokeInvitations.ts';
import { buildInvitationUrl, readInvitationToken } from './invitationUrl.ts';
import { enterAccount } from './switchAccount.ts';

/** An invitation, and the address that accepts it, which the inviter may pass on. */
export interface SentInvitation {
  invitation: Invitation;
  url: string;
}

/**
 * Invites an e-mail address to the account of a caller, and sends it the link. One that was invited before and has not
 * accepted is invited again with this role.
 * @throws ServiceError validation_error for an invalid address, a member, too many members or invitations, or while the
 *   account is being deleted; insufficient_scope or invalid_api_key if the caller's role or session changed meanwhile.
 */
export async function inviteMember(
  caller: Caller,
  { email, role }: { email: string; role: AssignableRole },
  origin: RequestOrigin,
): Promise<SentInvitation> {
  const address = email.trim().toLowerCase();
  if (!isEmail(address))
    throw invalidEmailError(`must be an e-mail address of at most ${EMAIL_MAX_CHARACTERS} characters.`);
  const { accountId } = caller;
  return withAccountOfCaller(caller, async (transaction, account) => {
    assertNotDeleting(account);
    if (await isMemberAddress(transaction, accountId, address))
      throw invalidEmailError(': this person is a member already.');
    await assertMembersLeft(transaction, accountId);
    const today = await Invitation.query(transaction)
      .where({ account_id: accountId })
      .where('created_at', '>', addMilliseconds(now(), -DAY_MS))
      .select('email', 'sent_count');
    if (today.length >= INVITATIONS_PER_DAY)
      throw invalidEmailError(
        `: the account has sent ${today.length} invitations within a day, the maximum. Try again tomorrow.`,
      );
    const same = today.filter((invitation) => invitation.email === address);
    const messages = same.reduce((sum, { sent_count: count }) => sum + count, 0);
    if (messages >= INVITATION_SENDS_MAX)
      throw invalidEmailError(
        `: this address has received ${messages} messages within a day, the maximum. Try again tomorrow.`,
      );
    await openInvitations(transaction).where({ account_id: accountId, email: address }).patch({ revoked_at: now() });
    const invitation = await Invitation.query(transaction).insertAndFetch({
      uuid: uuidv7(),
      account_id: accountId,
      email: address,
      role,
      invited_by: requireMember(caller).number,
      created_at: now(),
      expires_at: getExpiry(),
    });
    const details = { member: address, role };
    const subject = { invitation: invitation.uuid };
    await recordSecurityEvent(transaction, { accountId, event: 'member_invited', origin, details, subject });
    await sendInvitation(transaction, caller, account, invitation);
    return { invitation, url: buildInvitationUrl(invitation) };
  });
}

const getExpiry = (): Date => addMilliseconds(now(), INVITATION_DAYS * DAY_MS);

function invalidEmailError(problem: string): ServiceError {
  return new ServiceError('validation_error', `email${problem.startsWith(':') ? '' : ' '}${problem}`, {
    field: 'email',
  });
}

async function isMemberAddress(transaction: Transaction, accountId: number, email: string): Promise<boolean> {
  const person = Person.query(transaction).where({ email }).select('id');
  const member = Member.query(transaction).where({ account_id: accountId }).whereNull('removed_at');
  return (await member.whereIn('person_id', person).resultSize()) > 0;
}

/** @throws ServiceError validation_error if the account has as many members as it may. */
async function assertMembersLeft(transaction: Transaction, accountId: number): Promise<void> {
  const members = Member.query(transaction).where({ account_id: accountId }).whereNull('removed_at');
  if ((await members.resultSize()) < MEMBERS_MAX) return;
  throw new ServiceError(
    'validation_error',
    `The account already has ${MEMBERS_MAX} members, the maximum. Remove one first.`,
  );
}

/** Records the event from which the invited address receives the link. */
async function sendInvitation(
  transaction: Transaction,
  caller: Caller,
  { id: accountId, email, language }: Account,
  invitation: Invitation,
): Promise<void> {
  const inviter = await findPersonOfCaller(caller, transaction);
  const invited = await Person.query(transaction).findOne({ email: invitation.email });
  await recordEvent(transaction, {
    accountId,
    type: 'member.invited',
    subject: `${invitation.uuid} ${invitation.sent_count}`,
    details: {
      inviter: inviter?.email ?? email,
      account: email,
      role: invitation.role,
      expires_at: invitation.expires_at.toISOString(),
      invitation: invitation.uuid,
      sent_count: invitation.sent_count,
      recipient_email: invitation.email,
      recipient_name: invited?.first_name ?? '',
      // Someone who is not known gets that of the account.
      recipient_language: invited?.language ?? language,
    },
  });
}

/** Lists the invitations of an account that can be accepted or have expired, newest first. */
export async function listInvitations(accountId: number, page: number): Promise<ListPage<Invitation>> {
  const open = () => openInvitations().where({ account_id: accountId });
  const newest = [{ column: 'created_at', order: 'desc' as const }, { column: 'uuid' }];
  const [totalItems, items] = await Promise.all([
    open().resultSize(),
    open().orderBy(newest).offset(getPageOffset(page)).limit(PAGE_SIZE),
  ]);
  return { page, totalItems, items };
}

/**
 * Sends an invitation again, as one of the caller, with a new expiry. Its former link stops working.
 * @throws ServiceError not_found; validation_error after some messages.
 */
export async function resendInvitation(caller: Caller, uuid: string): Promise<SentInvitation> {
  return withAccountOfCaller(caller, async (transaction, account) => {
    assertNotDeleting(account);
    const invitation = await requireOpenInvitation(transaction, caller, uuid);
    if (invitation.sent_count >= INVITATION_SENDS_MAX) {
      const detail = `This invitation was sent ${invitation.sent_count} times, the maximum. Revoke it, and invite again tomorrow.`;
      throw new ServiceError('validation_error', detail);
    }
    const { number: invitedBy } = requireMember(caller);
    const change = { sent_count: invitation.sent_count + 1, expires_at: getExpiry(), invited_by: invitedBy };
    const sent = await invitation.$query(transaction).patchAndFetch(change);
    await sendInvitation(transaction, caller, account, sent);
    return { invitation: sent, url: buildInvitationUrl(sent) };
  });
}

/** Revokes an invitation: its link stops working. @throws ServiceError not_found */
export async function revokeInvitation(caller: Caller, uuid: string, origin: RequestOrigin): Promise<void> {
  const { accountId } = caller;
  await withAccountOfCaller(caller, async (transaction) => {
    const invitation = await requireOpenInvitation(transaction, caller, uuid);
    await invitation.$query(transaction).patch({ revoked_at: now() });
    const details = { member: invitation.email };
    const subject = { invitation: uuid };
    await recordSecurityEvent(transaction, { accountId, event: 'invitation_revoked', origin, details, subject });
  });
}

/** Finds an open invitation of an account. @throws ServiceError not_found */
export async function findInvitation(accountId: number, uuid: string): Promise<Invitation> {
  const invitation = await openInvitations().findOne({ account_id: accountId, uuid });
  if (invitation === undefined) throw invitationNotFoundError();
  return invitation;
}

async function requireOpenInvitation(transaction: Transaction, caller: Caller, uuid: string): Promise<Invitation> {
  const invitation = await openInvitations(transaction).findOne({ account_id: caller.accountId, uuid });
  if (invitation === undefined) throw invitationNotFoundError();
  return invitation;
}

function invitationNotFoundError(): ServiceError {
  return new ServiceError('not_found', 'Not found. This account has no open invitation with that UUID.');
}

/** An invitation as the invited person sees it. */
export interface ReceivedInvitation {
  invitation: Invitation;
  /** Address of the owner of the account. */
  account: string;
}

/**
 * Finds the invitation of a link for the person behind a session.
 * @throws ServiceError not_found for a link that was replaced, revoked, used, or has expired, and while the account is
 *   suspended or being deleted; insufficient_scope if it is for another address.
 */
export async function readInvitation(
  caller: Caller,
  token: string,
  transaction?: Transaction,
): Promise<ReceivedInvitation> {
  const named = readInvitationToken(token);
  const invitation = await openInvitations(transaction)
    .findOne(named ?? { uuid: null })
    .where('expires_at', '>', now());
  const account = await Account.query(transaction)
    .findById(invitation?.account_id ?? 0)
    .whereNull('deletion_requested_at')
    .whereNull('suspended_at');
  if (invitation === undefined || account === undefined)
    throw new ServiceError(
      'not_found',
      'Not found. The invitation has expired or was revoked, replaced or accepted. Ask for another one.',
    );
  const person = await findPersonOfCaller(caller, transaction);
  if (person === undefined || !(await hasAddress(person, invitation.email, transaction)))
    throw new ServiceError(
      'insufficient_scope',
      `The invitation is for another address than ${person?.email}. Sign in with the address that it was sent to.`,
    );
  return { invitation, account: account.email };
}

/** Returns whether an address of a person was verified: at the first sign-in, or by a linked identity. */
async function hasAddress({ id, email }: Person, address: string, transaction?: Transaction): Promise<boolean> {
  if (email === address) return true;
  const identities = Identity.query(transaction).where({ person_id: id, email: address });
  return (await identities.resultSize()) > 0;
}

/** The second member makes the charges count by member. What was charged before was of the first. */
const START_COUNTING = prepared(
  'start_member_usage',
  `INSERT INTO usage_members (account_id, member_number, credits, generations)
   SELECT account_id, 1, sum(credits), sum(generations) FROM usage_totals WHERE account_id = :accountId GROUP BY account_id`,
);

/**
 * Makes the person behind a session a member of the account that the link invites it to, and lets the session act on
 * it.
 * @throws ServiceError as {@link readInvitation} and {@link enterAccount}; validation_error if the account has as many
 *   members as it may.
 */
export async function acceptInvitation(caller: Caller, token: string, origin: RequestOrigin): Promise<void> {
  const { invitation: found } = await readInvitation(caller, token);
  const { account_id: accountId } = found;
  const { id: personId } = await getPerson(caller);
  await Account.transaction(async (transaction) => {
    const { person, accounts, members } = await lockPerson(transaction, personId, accountId);
    const { invitation } = await readInvitation(caller, token, transaction);
    const account = accounts.find(({ id }) => id === accountId);
    if (account === undefined || person.erased_at !== null)
      throw new ServiceError('not_found', 'Not found. Your account was deleted: sign in again.');
    await invitation.$query(transaction).patch({ accepted_at: now() });
    const member =
      members.find(({ account_id: id }) => id === accountId) ??
      (await addMember(transaction, account, person, invitation, origin));
    await enterAccount(transaction, caller, member, origin);
  });
}

async function addMember(
  transaction: Transaction,
  account: Account,
  { id: personId, email }: Person,
  { uuid, role, invited_by }: Invitation,
  origin: RequestOrigin,
): Promise<Member> {
  const { id: accountId } = account;
  await assertMembersLeft(transaction, accountId);
  if (account.member_count === 1) await runStatement(START_COUNTING, { accountId }, transaction);
  const number = account.member_count + 1;
  await account.$query(transaction).patch({ member_count: number });
  const invited = { person_id: personId, role, invited_by };
  const member = await Member.query(transaction).insertAndFetch({
    ...invited,
    account_id: accountId,
    number,
    uuid: uuidv7(),
    created_at: now(),
  });
  await recordSecurityEvent(transaction, {
    accountId,
    event: 'member_joined',
    origin: { ...origin, memberNumber: number },
    details: { member: email, role },
    subject: { invitation: uuid },
  });
  return member;
}
