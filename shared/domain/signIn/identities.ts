import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import {
  getIssuer,
  type ProviderIdentity,
  type ProviderName,
  getIdentityProviders,
} from '../../gateways/identity/index.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { isDuplicate } from '../../lib/database/errors.ts';
import { isDevSignInAllowed } from '../../lib/signInSettings.ts';
import { sha256 } from '../../lib/secrets.ts';
import { isEmail } from '../../lib/email.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Language } from '../../spec/languages.ts';
import { PROFILE_TEXT_MAX_CHARACTERS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Identity } from '../../tables/Identity.ts';
import { Person } from '../../tables/Person.ts';
import { Session } from '../../tables/Session.ts';
import { revokePersonAccess } from './revokeAccess.ts';
import { type LockedPerson, lockPerson, patchPerson } from '../accounts/people.ts';
import { erasedError, findOrCreatePersonByEmail } from './findOrCreatePerson.ts';
import type { ReferralClick } from '../affiliates/referrals.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { recordIdentityRemoval } from './identityUndo.ts';
import {
  recordSecurityEvent,
  type RequestOrigin,
  type SecurityEventName,
  SERVICE_ORIGIN,
} from '../accounts/securityEvents.ts';
import { assertSessionActive, findActiveSession } from './sessions.ts';
import { grantStaffRights } from '../accounts/staffRights.ts';

/**
 * Outcome of a sign-in with an identity.
 * - `unverified`: the provider has not verified the address.
 * - `taken`: the person of the address is linked to another identity of the same provider.
 * - `other_provider`: the person of the address is linked to other providers (`linked`), not to this one.
 */
export type IdentitySignInResult =
  | { problem: null; person: Person; identityUuid: string }
  | { problem: 'unverified' | 'taken' }
  | { problem: 'other_provider'; linked: ProviderName[] };

/**
 * Finds the person that the identity is linked to, even if its address has changed. An unknown identity creates a
 * person with an account for its verified address, or is linked to one without identities. It never becomes a person
 * with another identity, because an address can be reassigned.
 * @param referralClick referral link that the browser followed, if any.
 * @param language that of a new person.
 */
export async function signInWithIdentity(
  provider: ProviderName,
  identity: ProviderIdentity,
  referralClick: ReferralClick | null = null,
  origin: RequestOrigin = SERVICE_ORIGIN,
  language: Language = 'en',
): Promise<IdentitySignInResult> {
  const find = () => findOrCreatePersonByIdentity(provider, identity, referralClick, origin, language);
  const found =
    (await find().catch((error: unknown) => {
      // The same identity was linked to another person concurrently, so the second attempt finds it.
      if (isDuplicate(error)) return null;
      throw error;
    })) ?? (await find());
  if (found === null) throw erasedError();
  if (found.problem === null) await grantStaffRights(found.person);
  return found;
}

/** @returns null if the person of the address was erased since it was found: the next attempt creates another. */
async function findOrCreatePersonByIdentity(
  provider: ProviderName,
  { subject, email, isEmailVerified, firstName }: ProviderIdentity,
  referralClick: ReferralClick | null,
  origin: RequestOrigin,
  language: Language,
): Promise<IdentitySignInResult | null> {
  const issuer = getIssuer(provider);
  const known = await Identity.query().findById([provider, issuer, subject]);
  if (known !== undefined) {
    const person = await Person.query().findById(known.person_id).throwIfNotFound();
    return { problem: null, person, identityUuid: known.uuid };
  }
  if (email === null || !isEmailVerified || !isEmail(email)) return { problem: 'unverified' };
  return Account.transaction(async (transaction) => {
    const { id } = await findOrCreatePersonByEmail(
      email,
      provider,
      { firstName: sanitizeFirstName(firstName), language, referralClick },
      transaction,
    );
    const locked = await lockPerson(transaction, id);
    const { person } = locked;
    if (person.erased_at !== null) return null;
    const linked = await Identity.query(transaction).where({ person_id: id }).orderBy('created_at');
    const same = linked.find((other) => other.provider === provider && other.issuer === issuer);
    if (same?.subject === subject) return { problem: null, person, identityUuid: same.uuid };
    if (linked.length > 0) {
      const problem = same === undefined ? 'other_provider' : 'taken';
      await recordPersonEvent(transaction, locked, 'sign_in_failed', origin, { provider, problem });
      if (problem === 'taken') return { problem };
      return { problem, linked: linked.map((other) => other.provider as ProviderName) };
    }
    const { uuid } = await insertIdentity(transaction, locked, provider, subject, email, origin);
    if (person.social_provider === DEV_PROVIDER) await revokeDevAccess(transaction, locked, provider, origin);
    return { problem: null, person, identityUuid: uuid };
  });
}

/**
 * Records a change of how a person signs in, in the security log of the account that the person owns first.
 * A person who has left all accounts has no log.
 */
export async function recordPersonEvent(
  transaction: Transaction,
  { members }: LockedPerson,
  event: SecurityEventName,
  origin: RequestOrigin,
  details: Record<string, string | number>,
  subject: Record<string, string | number> = details,
): Promise<void> {
  const member = members.find(({ role }) => role === 'owner') ?? members[0];
  if (member === undefined) return;
  const { account_id: accountId, number: memberNumber } = member;
  await recordSecurityEvent(transaction, { accountId, event, origin: { ...origin, memberNumber }, details, subject });
}

/** Reason why an identity could not be linked to a person. */
export type LinkProblem = 'expired' | 'unverified' | 'identity_in_use' | 'provider_linked';

/**
 * Links an identity to the person of a session. The session must be valid, and the person must already have an
 * identity: without one, ownership of the address has not been verified. Linking an identity again changes nothing.
 * @returns the reason why the identity was not linked; null if it was.
 */
export async function linkIdentity(
  provider: ProviderName,
  { subject, email, isEmailVerified }: ProviderIdentity,
  sessionHash: Buffer,
  origin: RequestOrigin = SERVICE_ORIGIN,
): Promise<{ problem: LinkProblem | null }> {
  if (email === null || !isEmailVerified || !isEmail(email)) return { problem: 'unverified' };
  const issuer = getIssuer(provider);
  try {
    return await Account.transaction(async (transaction) => {
      const session = await findActiveSession(sessionHash, transaction);
      if (session === undefined) return { problem: 'expired' };
      const locked = await lockPerson(transaction, session.person_id);
      // Read again under the lock, because access may have been revoked in the meantime.
      if ((await findActiveSession(sessionHash, transaction)) === undefined) return { problem: 'expired' };
      const linked = await Identity.query(transaction).where({ person_id: locked.person.id });
      if (linked.length === 0) return { problem: 'expired' };
      const same = linked.find((other) => other.provider === provider && other.issuer === issuer);
      if (same?.subject === subject) return { problem: null };
      const known = await Identity.query(transaction).findById([provider, issuer, subject]);
      if (known !== undefined) return { problem: 'identity_in_use' };
      if (same !== undefined) return { problem: 'provider_linked' };
      await insertIdentity(transaction, locked, provider, subject, email, origin);
      return { problem: null };
    });
  } catch (error) {
    if (isDuplicate(error)) return { problem: 'identity_in_use' };
    throw error;
  }
}

/**
 * Removes an identity from its person and ends the sessions that it opened, except the caller's own. The person can
 * undo a removal by a session.
 * @param currentToken session cookie of the caller. Null for staff and the provider, who may remove the last identity
 *   that can sign in, and end all sessions of the identity.
 * @returns the removed identity.
 * @throws ServiceError not_found; invalid_api_key if the caller's session has ended meanwhile; validation_error for a
 *   person's last identity that can sign in.
 */
export async function removeIdentity(
  personId: number,
  uuid: string,
  {
    currentToken,
    origin = SERVICE_ORIGIN,
    actor,
  }: {
    currentToken: string | null;
    origin?: RequestOrigin;
    /** Staff who remove it, and the account on whose page. */
    actor?: { staff: Actor; account: Account };
  },
): Promise<Identity> {
  return Account.transaction(async (transaction) => {
    const locked = await lockPerson(transaction, personId);
    const { person } = locked;
    const sessionHash = currentToken === null ? null : sha256(currentToken);
    if (sessionHash !== null) await assertSessionActive(transaction, sessionHash);
    // Locked before its sessions are deleted: a concurrent sign-in with it fails, instead of opening a session that
    // outlives the identity.
    const linked = await Identity.query(transaction).where({ person_id: personId }).orderBy('created_at').forUpdate();
    const removed = linked.find((identity) => identity.uuid === uuid);
    if (removed === undefined) throw new ServiceError('not_found', 'Not found. This sign-in method is not linked.');
    const rest = linked.filter((identity) => identity !== removed);
    if (currentToken !== null && !isDevSignInAllowed(config) && !rest.some(canSignIn)) {
      throw new ServiceError(
        'validation_error',
        'This is the only sign-in method that you can sign in with. Link another one before you remove it.',
      );
    }
    const opened = Session.query(transaction).where({ identity_uuid: uuid });
    if (sessionHash !== null) await recordIdentityRemoval(transaction, locked, removed, sessionHash, origin);
    await (sessionHash === null ? opened : opened.whereNot('token_hash', sessionHash)).delete();
    await Identity.query(transaction).delete().where({ uuid });
    const { provider } = removed;
    const details = { provider, linked_at: removed.created_at.toISOString() };
    await recordPersonEvent(transaction, locked, 'identity_removed', origin, details, { provider });
    // Removing the last identity also removes staff rights. The next sign-in with the listed address obtains them.
    if (rest.length === 0) await person.$query(transaction).patch({ staff_since: null });
    const [oldest] = rest;
    if (oldest !== undefined && person.social_provider === provider)
      await patchPerson(transaction, locked, { social_provider: oldest.provider });
    if (actor !== undefined) {
      await recordAuditEntry(transaction, actor.staff, {
        action: 'identity.remove',
        accountId: actor.account.id,
        targetId: actor.account.uuid,
        before: { provider },
        after: { provider: null },
      });
    }
    return removed;
  });
}

/** Returns whether an identity can still sign in: its provider is configured with the same issuer. */
export function canSignIn({ provider, issuer }: Identity): boolean {
  const name = provider as ProviderName;
  return getIdentityProviders()[name] !== null && getIssuer(name) === issuer;
}

async function insertIdentity(
  transaction: Transaction,
  locked: LockedPerson,
  provider: ProviderName,
  subject: string,
  email: string,
  origin: RequestOrigin,
): Promise<Identity> {
  await recordPersonEvent(transaction, locked, 'identity_linked', origin, { provider });
  const [inserted] = await Identity.query(transaction)
    .insert([
      {
        uuid: uuidv7(),
        provider,
        issuer: getIssuer(provider),
        subject,
        person_id: locked.person.id,
        email: email.toLowerCase(),
        created_at: now(),
      },
    ])
    .returning('*');
  return inserted as Identity;
}

/** Provider name of people who were created by local sign-in. */
export const DEV_PROVIDER = 'dev';

/** Revokes all access from before the first identity: local sign-in does not verify ownership of the address. */
async function revokeDevAccess(
  transaction: Transaction,
  locked: LockedPerson,
  provider: ProviderName,
  origin: RequestOrigin,
): Promise<void> {
  await revokePersonAccess(transaction, locked, origin);
  await patchPerson(transaction, locked, { social_provider: provider });
}

/** Lists the identities of a person in the order in which they were linked. */
export async function listIdentities(personId: number): Promise<Identity[]> {
  return Identity.query().where({ person_id: personId }).orderBy(['created_at', 'provider']);
}

function sanitizeFirstName(text: string): string {
  const name = text.replaceAll(/[\p{Cc}\uFFFD]/gu, ' ').trim();
  return name.slice(0, PROFILE_TEXT_MAX_CHARACTERS).toWellFormed();
}
