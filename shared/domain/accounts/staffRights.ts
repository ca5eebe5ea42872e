import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { isDevSignInAllowed } from '../../lib/signInSettings.ts';
import { getStaffRole, isStaffEmail } from '../../lib/staffEmails.ts';
import { ServiceError } from '../../spec/errors.ts';
import { hasPermission, STAFF_PERMISSIONS, type StaffPermission, type StaffRole } from '../../spec/staff.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Identity } from '../../tables/Identity.ts';
import type { Person } from '../../tables/Person.ts';
import type { Caller, Credential } from './caller.ts';
import { findPersonOfCaller } from './people.ts';

const GRANT_STAFF_RIGHTS = prepared(
  'bind_staff_identities',
  `WITH bound AS (
     UPDATE people SET staff_since = :now WHERE id = :personId AND staff_since IS NULL RETURNING id
   )
   UPDATE identities i SET staff_since = :now FROM bound WHERE i.person_id = bound.id`,
);

/**
 * Grants staff rights to the identities of a person at its first sign-in with an address on the staff list.
 * Identities that are linked later never receive them, so that a linked provider cannot open the staff pages.
 */
export async function grantStaffRights({ id, email, staff_since }: Person): Promise<void> {
  if (staff_since === null && isStaffEmail(email)) await runStatement(GRANT_STAFF_RIGHTS, { personId: id, now: now() });
}

/**
 * Returns whether a caller has staff rights: the person owns the account that the caller acts on, its address is on the
 * staff list and, for a session, the identity that opened it has them. A key has the rights of its account (spec: API
 * keys), unless its creator had no staff rights, or the account was handed over since.
 */
export async function isStaff(caller: Pick<Caller, 'accountId' | 'credential' | 'member'>): Promise<boolean> {
  // The audit log names staff by the account that they own.
  if (caller.member?.role !== 'owner') return false;
  const person = await findPersonOfCaller(caller);
  if (person === undefined || !isStaffEmail(person.email)) return false;
  const isVerified = person.staff_since !== null || isDevSignInAllowed(config);
  return isVerified && !(await lacksStaffRights(person, caller.credential));
}

/**
 * Returns whether a key, or the identity that opened a session, lacks the staff rights that its person has or may get.
 */
async function lacksStaffRights(
  { id, staff_since: staffSince }: Person,
  credential: Credential,
  transaction?: Transaction,
): Promise<boolean> {
  if (credential.kind === 'key') {
    const key = await ApiKey.query(transaction).findById(credential.hash).select('lacks_staff_rights');
    return key?.lacks_staff_rights !== false;
  }
  // Local sign-in does not verify addresses, and its people have no identities.
  if (credential.kind !== 'session' || staffSince === null || isDevSignInAllowed(config)) return false;
  const identity = await Identity.query(transaction)
    .join('sessions', 'sessions.identity_uuid', 'identities.uuid')
    .where('sessions.token_hash', credential.hash)
    .where('identities.person_id', id)
    .whereNotNull('identities.staff_since')
    .select('identities.uuid')
    .first();
  return identity === undefined;
}

/**
 * Returns whether a key that a caller creates lacks staff rights: the session of a person who has them, or the key that
 * creates it, has not. Without this a provider that was linked later could read staff metrics by a key.
 */
export async function makesKeysWithoutStaffRights(
  transaction: Transaction,
  caller: Pick<Caller, 'accountId' | 'credential' | 'member'>,
): Promise<boolean> {
  const person = await findPersonOfCaller(caller, transaction);
  return person !== undefined && lacksStaffRights(person, caller.credential, transaction);
}

/**
 * Takes the staff rights from all keys of a locked account that gets another owner: the programs of its team use those
 * that the new owner made as a member.
 */
export async function removeStaffRightsOfKeys(transaction: Transaction, accountId: number): Promise<void> {
  await ApiKey.query(transaction).where({ account_id: accountId }).patch({ lacks_staff_rights: true });
}

/**
 * Rejects callers who are not staff, or whose role lacks a permission (spec: Authentication, API keys).
 * @returns the role of the caller.
 * @throws ServiceError admin_required
 */
export async function requireStaff(caller: Caller, permission: StaffPermission): Promise<StaffRole> {
  const account = await Account.query().findById(caller.accountId).select('email', 'deletion_requested_at');
  if (account === undefined || !(await isStaff(caller)))
    throw new ServiceError('admin_required', 'Staff access is required. Sign in with a staff account.');
  if (account.deletion_requested_at !== null)
    throw new ServiceError(
      'admin_required',
      'Your account is being deleted. Undo the deletion on the account page first.',
    );
  // An account has the address of its owner.
  const role = getStaffRole(account.email) as StaffRole;
  if (hasPermission(role, permission)) return role;
  const allowed = STAFF_PERMISSIONS[permission].join(', ');
  throw new ServiceError('admin_required', `This requires one of the roles ${allowed}. Your role is ${role}.`);
}
