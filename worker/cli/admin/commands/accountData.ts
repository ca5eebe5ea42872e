import { pipeline } from 'node:stream/promises';
import { countActiveAccess } from '../../../../shared/domain/signIn/revokeAccess.ts';
import { assertErasable, eraseAccount } from '../../../../shared/domain/privacy/erase.ts';
import { exportAccountByStaff } from '../../../../shared/domain/privacy/export.ts';
import { findOwner } from '../../../../shared/domain/accounts/people.ts';
import { listIdentities, removeIdentity } from '../../../../shared/domain/signIn/identities.ts';
import { lookUpAccountForStaff } from '../../../../shared/domain/staff/accountLookup.ts';
import { revokeAccountAccess } from '../../../../shared/domain/staff/accessActions.ts';
import { logger } from '../../../../shared/lib/logger.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import type { CommandContext } from '../command.ts';
import { getSystemActor, parseReason } from '../systemActor.ts';

/** Revokes every credential and open invitation of an account, and disables its webhook endpoints. */
export async function revokeAllAccess({
  args: [query = ''],
  options,
  shouldApply,
  print,
}: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const { sessions, keys, grants, webhooks, invitations } = await (shouldApply
    ? revokeAccountAccess(account.id, getSystemActor(parseReason(options)))
    : countActiveAccess(account.id));
  const verb = shouldApply ? 'Revoked' : 'Would revoke';
  print(
    `${verb} for ${account.email}: ${sessions} sessions, ${keys} API keys, ${grants} application grants, ${webhooks} webhook endpoints, ${invitations} invitations.`,
  );
}

/** Prints the stored data of an account as JSON. */
export async function exportAccountData({ args: [query = ''], options, stdout }: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const exported = await exportAccountByStaff(account, getSystemActor(parseReason(options)));
  await pipeline(exported, stdout, { end: false });
}

/** Erases the personal data of an account. */
export async function eraseAccountData({
  args: [query = ''],
  options,
  shouldApply,
  print,
}: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const customer = account.stripe_customer_id;
  if (!shouldApply) {
    await assertErasable(account);
    print(
      `Would erase ${account.email}: profile, sign-in methods, sessions, keys, grants, and prompts and media of ${account.generation_count} generations. ${account.ledger_count} ledger entries would stay.`,
    );
    return;
  }
  const { generations } = await eraseAccount(account.id, getSystemActor(parseReason(options)));
  print(`Erased account ${account.uuid}. Deleted ${generations} generations; the ledger stays.`);
  if (customer !== null) print(`Delete the customer ${customer} at Stripe as well.`);
}

/** Removes a sign-in method from the owner of an account, including the last one. */
export async function removeSignInMethod({
  args: [query = '', provider],
  options,
  shouldApply,
  print,
}: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const owner = await findOwner(account.id);
  const linked = owner === undefined ? [] : await listIdentities(owner.id);
  const identity = linked.find((one) => one.provider === provider);
  if (identity === undefined) {
    throw new ServiceError('not_found', `${account.email} has no sign-in method ${provider}.`);
  }
  if (!shouldApply) {
    print(`Would remove ${identity.provider} (${identity.email}) from ${account.email} and end its sessions.`);
    return;
  }
  const actor = getSystemActor(parseReason(options));
  await removeIdentity(identity.person_id, identity.uuid, { currentToken: null, actor: { staff: actor, account } });
  logger.info({ accountId: account.id, provider: identity.provider }, 'identity removed by staff');
  print(`Removed ${identity.provider} (${identity.email}) from ${account.email}.`);
}
