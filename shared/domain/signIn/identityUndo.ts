import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { decryptText, deriveKey, encryptText } from '../../lib/encryption.ts';
import { getServerSecret } from '../../lib/serverSecret.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { IDENTITY_UNDO_DAYS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Identity } from '../../tables/Identity.ts';
import { Person } from '../../tables/Person.ts';
import { Session } from '../../tables/Session.ts';
import { describeRecipient, type LockedPerson, lockPerson, patchPerson } from '../accounts/people.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { removeMembersSince } from './endMembership.ts';
import { revokePersonAccess } from './revokeAccess.ts';
import { describeOrigin, recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';

/** An identity that was removed, with what an undo needs. The message to the owner contains it, encrypted. */
export type RemovedIdentity = {
  person_uuid: string;
  uuid: string;
  provider: string;
  issuer: string;
  subject: string;
  email: string;
  created_at: string;
  staff_since: string | null;
  /** Sign-in of the session that removed it. */
  signed_in_at: string;
  undo_until: string;
};

/** Records the event from which the person receives the link that undoes a removal. */
export async function recordIdentityRemoval(
  transaction: Transaction,
  { person, members }: LockedPerson,
  identity: Identity,
  sessionHash: Buffer,
  origin: RequestOrigin,
): Promise<void> {
  const session = await Session.query(transaction).findById(sessionHash).select('created_at').throwIfNotFound();
  const { uuid, provider, issuer, subject, email, created_at: createdAt, staff_since: staffSince } = identity;
  const undoUntil = addMilliseconds(now(), IDENTITY_UNDO_DAYS * DAY_MS).toISOString();
  const removed: RemovedIdentity = {
    person_uuid: person.uuid,
    uuid,
    provider,
    issuer,
    subject,
    email,
    created_at: createdAt.toISOString(),
    staff_since: staffSince?.toISOString() ?? null,
    signed_in_at: session.created_at.toISOString(),
    undo_until: undoUntil,
  };
  const member = members.find(({ role }) => role === 'owner') ?? members[0];
  if (member === undefined) return;
  const recipient = await describeRecipient(transaction, member);
  await recordEvent(transaction, {
    accountId: member.account_id,
    type: 'identity.removed',
    // An identity can be removed again after it was restored.
    subject: `${uuid} ${undoUntil}`,
    details: { ...removed, ...describeOrigin(origin), ...recipient },
  });
}

const getKey = () => deriveKey(getServerSecret(), 'identity undo');

/** Builds the address that undoes a removal. Only messages contain it. */
export function buildIdentityUndoUrl(removed: RemovedIdentity): string {
  const token = encryptText(getKey(), JSON.stringify(removed)).toString('base64url');
  return `${config.BASE_URL}/restore-sign-in/${token}`;
}

/**
 * Reads the token of an address.
 * @throws ServiceError not_found if this service has not built it, or it has expired.
 */
export function readIdentityUndoToken(token: string): RemovedIdentity {
  const removed = decryptToken(token);
  if (removed !== null && new Date(removed.undo_until) > now()) return removed;
  throw new ServiceError(
    'not_found',
    `Not found. The link is incomplete, or older than ${IDENTITY_UNDO_DAYS} days. Sign in with another method, or contact support.`,
  );
}

function decryptToken(token: string): RemovedIdentity | null {
  try {
    return JSON.parse(decryptText(getKey(), Buffer.from(token, 'base64url'))) as RemovedIdentity;
  } catch {
    return null;
  }
}

/**
 * Restores a removed identity. Ends all sessions of the person, and what the accounts that it owns got since the
 * sign-in that removed it: identities, members, invitations, API keys, applications and webhook endpoints. Restoring it
 * again changes nothing.
 * @throws ServiceError not_found if the person was erased; validation_error if the identity is linked to another by
 *   now.
 */
export async function restoreIdentity(removed: RemovedIdentity, origin: RequestOrigin): Promise<void> {
  const { person_uuid: personUuid, provider, issuer, subject, email, uuid } = removed;
  const since = new Date(removed.signed_in_at);
  await Account.transaction(async (transaction) => {
    const { id } = await Person.query(transaction).findOne({ uuid: personUuid }).select('id').throwIfNotFound();
    const locked = await lockPerson(transaction, id);
    if (locked.person.erased_at !== null) throw new ServiceError('not_found', 'Not found. The account was deleted.');
    const known = await Identity.query(transaction).findById([provider, issuer, subject]);
    if (known?.person_id === id) return;
    if (known !== undefined) {
      const detail = 'This sign-in method opens another account by now. Contact support to have it moved.';
      throw new ServiceError('validation_error', detail);
    }
    const identities = await Identity.query(transaction)
      .where({ person_id: id })
      .where((added) => void added.where('created_at', '>=', since).orWhere({ provider, issuer }))
      .delete();
    const ended = await revokePersonAccess(transaction, locked, origin, since);
    for (const { account_id: accountId, number: memberNumber, role } of locked.members)
      if (role === 'owner') await removeMembersSince(transaction, accountId, since, { ...origin, memberNumber });
    const createdAt = new Date(removed.created_at);
    const staffSince = removed.staff_since === null ? null : new Date(removed.staff_since);
    await Identity.query(transaction).insert({
      uuid,
      provider,
      issuer,
      subject,
      email,
      person_id: id,
      created_at: createdAt,
      staff_since: staffSince,
    });
    const [oldest] = await Identity.query(transaction).where({ person_id: id }).orderBy('created_at').limit(1);
    await patchPerson(transaction, locked, { social_provider: (oldest as Identity).provider });
    for (const [accountId, { memberNumber, revoked }] of ended)
      await recordSecurityEvent(transaction, {
        accountId,
        event: 'identity_restored',
        origin: { ...origin, memberNumber },
        details: { provider, identities, ...revoked },
        subject: { provider },
      });
  });
}
