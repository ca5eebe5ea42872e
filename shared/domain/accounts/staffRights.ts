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
import type { Caller, Credential } from './caller.ts';

const GRANT_STAFF_RIGHTS = prepared(
  'bind_staff_identities',
  `WITH bound AS (
     UPDATE accounts SET staff_since = :now WHERE id = :accountId AND staff_since IS NULL RETURNING id
   )
   UPDATE identities i SET staff_since = :now FROM bound WHERE i.account_id = bound.id`,
);

/**
 * Grants staff rights to the identities of an account at its first sign-in with an address on the staff list.
 * Identities that are linked later never receive them, so that a linked provider cannot open the staff pages.
 */
export async function grantStaffRights({ id, email, staff_since }: Account): Promise<void> {
  if (staff_since === null && isStaffEmail(email))
    await runStatement(GRANT_STAFF_RIGHTS, { accountId: id, now: now() });
}

/**
 * Returns whether a caller has staff rights: the address is on the staff list and, for a session, the identity that
 * opened it has them. A key has the rights of its account (spec: API keys), unless its creator had no staff rights.
 */
export async function isStaff(
  account: Pick<Account, 'id' | 'email' | 'staff_since'>,
  caller: Pick<Caller, 'credential'>,
): Promise<boolean> {
  if (!isStaffEmail(account.email)) return false;
  // Local sign-in does not verify addresses, and its accounts have no identities.
  if (isDevSignInAllowed(config)) return true;
  return account.staff_since !== null && hasStaffRights(account.id, caller.credential);
}

/** Returns whether a key, or the identity that opened a session, has the staff rights of its account. */
async function hasStaffRights(accountId: number, credential: Credential, transaction?: Transaction): Promise<boolean> {
  if (credential.kind === 'key') {
    const key = await ApiKey.query(transaction).findById(credential.hash).select('lacks_staff_rights');
    return key?.lacks_staff_rights === false;
  }
  if (credential.kind !== 'session') return true;
  const identity = await Identity.query(transaction)
    .join('sessions', 'sessions.identity_uuid', 'identities.uuid')
    .where('sessions.token_hash', credential.hash)
    .where('identities.account_id', accountId)
    .whereNotNull('identities.staff_since')
    .select('identities.uuid')
    .first();
  return identity !== undefined;
}

/**
 * Returns whether a key that a caller creates lacks staff rights: its account has them, and the session or the key that
 * creates it has not. Without this a provider that was linked later could read staff metrics by a key.
 */
export async function makesKeysWithoutStaffRights(
  transaction: Transaction,
  { staff_since: staffSince }: Pick<Account, 'staff_since'>,
  { accountId, credential }: Pick<Caller, 'accountId' | 'credential'>,
): Promise<boolean> {
  return staffSince !== null && !(await hasStaffRights(accountId, credential, transaction));
}

/**
 * Rejects callers who are not staff, or whose role lacks a permission (spec: Authentication, API keys).
 * @returns the role of the caller.
 * @throws ServiceError admin_required
 */
export async function requireStaff(caller: Caller, permission: StaffPermission): Promise<StaffRole> {
  const account = await Account.query()
    .findById(caller.accountId)
    .select('id', 'email', 'staff_since', 'deletion_requested_at');
  if (account === undefined || !(await isStaff(account, caller)))
    throw new ServiceError('admin_required', 'Staff access is required. Sign in with a staff account.');
  if (account.deletion_requested_at !== null)
    throw new ServiceError(
      'admin_required',
      'Your account is being deleted. Undo the deletion on the account page first.',
    );
  const role = getStaffRole(account.email) as StaffRole;
  if (hasPermission(role, permission)) return role;
  const allowed = STAFF_PERMISSIONS[permission].join(', ');
  throw new ServiceError('admin_required', `This requires one of the roles ${allowed}. Your role is ${role}.`);
}
