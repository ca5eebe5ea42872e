import { pipeline } from 'node:stream/promises';
import { countActiveAccess, revokeAllAccess } from '../../../../shared/domain/accounts/revokeAccess.ts';
import { assertErasable, eraseAccount } from '../../../../shared/domain/accounts/erase.ts';
import { exportAccount } from '../../../../shared/domain/accounts/export.ts';
import { listIdentities, removeIdentity } from '../../../../shared/domain/accounts/identities.ts';
import { lookUpAccountForStaff } from '../../../../shared/domain/accounts/adminLookup.ts';
import { logger } from '../../../../shared/lib/logger.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import type { CommandContext } from '../command.ts';

/** Revokes every credential of an account. */
export async function revokeAccountAccess({ args: [query = ''], shouldApply, print }: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const { sessions, keys, grants } = await (shouldApply ? revokeAllAccess(account.id) : countActiveAccess(account.id));
  if (shouldApply) logger.info({ accountId: account.id, sessions, keys, grants }, 'access revoked by staff');
  const verb = shouldApply ? 'Revoked' : 'Would revoke';
  print(`${verb} for ${account.email}: ${sessions} sessions, ${keys} API keys, ${grants} application grants.`);
}

/** Prints the stored data of an account as JSON. */
export async function exportAccountData({ args: [query = ''] }: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  await pipeline(exportAccount(account), process.stdout, { end: false });
}

/** Erases the personal data of an account. */
export async function eraseAccountData({ args: [query = ''], shouldApply, print }: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const customer = account.stripe_customer_id;
  if (!shouldApply) {
    await assertErasable(account);
    print(
      `Would erase ${account.email}: profile, sign-in methods, sessions, keys, grants, and prompts and media of ${account.generation_count} generations. ${account.ledger_count} ledger entries would stay.`,
    );
    return;
  }
  const { generations } = await eraseAccount(account.id);
  print(`Erased account ${account.uuid}. Deleted ${generations} generations; the ledger stays.`);
  if (customer !== null) print(`Delete the customer ${customer} at Stripe as well.`);
}

/** Removes a sign-in method from an account, including the last one. */
export async function removeSignInMethod({
  args: [query = '', provider],
  shouldApply,
  print,
}: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const identity = (await listIdentities(account.id)).find((linked) => linked.provider === provider);
  if (identity === undefined) {
    throw new ServiceError('not_found', `${account.email} has no sign-in method ${provider}.`);
  }
  if (!shouldApply) {
    print(`Would remove ${identity.provider} (${identity.email}) from ${account.email} and end its sessions.`);
    return;
  }
  await removeIdentity(account.id, identity.uuid, { currentToken: null, mayBeLast: true });
  logger.info({ accountId: account.id, provider: identity.provider }, 'identity removed by staff');
  print(`Removed ${identity.provider} (${identity.email}) from ${account.email}.`);
}
