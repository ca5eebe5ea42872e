import { countAccess, endAccess } from '../../../shared/domain/access.ts';
import { assertErasable, eraseAccount } from '../../../shared/domain/erasure.ts';
import { exportAccount } from '../../../shared/domain/exportAccount.ts';
import { identitiesOf, removeIdentity } from '../../../shared/domain/identities.ts';
import { lookUpAccount } from '../../../shared/domain/lookUp.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Call } from '../command.ts';

/** Ends every credential of an account. */
export async function endAccountAccess({ names: [named = ''], isForReal, say }: Call): Promise<void> {
  const account = await lookUpAccount(named);
  const { sessions, keys, grants } = await (isForReal ? endAccess(account.id) : countAccess(account.id));
  if (isForReal) logger.info({ account: account.id, sessions, keys, grants }, 'access ended by the staff');
  const verb = isForReal ? 'Ended' : 'Would end';
  say(`${verb} for ${account.email}: ${sessions} sessions, ${keys} API keys, ${grants} application grants.`);
}

/** Prints all that is stored about an account as JSON. */
export async function exportAccountData({ names: [named = ''], say }: Call): Promise<void> {
  say(JSON.stringify(await exportAccount(await lookUpAccount(named)), null, 2));
}

/** Erases the personal data of an account. */
export async function eraseAccountData({ names: [named = ''], isForReal, say }: Call): Promise<void> {
  const account = await lookUpAccount(named);
  const customer = account.stripe_customer_id;
  if (!isForReal) {
    await assertErasable(account);
    say(
      `Would erase ${account.email}: profile, sign-in methods, sessions, keys, grants, and prompts and media of ${account.generation_count} generations. ${account.ledger_count} ledger entries would stay.`,
    );
    return;
  }
  const { generations } = await eraseAccount(account.id);
  say(`Erased account ${account.uuid}. Deleted ${generations} generations; the ledger stays.`);
  if (customer !== null) say(`Delete the customer ${customer} at Stripe as well.`);
}

/** Removes a sign-in method from an account, also the last one. */
export async function removeSignInMethod({ names: [named = '', provider], isForReal, say }: Call): Promise<void> {
  const account = await lookUpAccount(named);
  const identity = (await identitiesOf(account.id)).find((linked) => linked.provider === provider);
  if (identity === undefined) {
    throw new ServiceError('not_found', `${account.email} has no sign-in method ${provider}.`);
  }
  if (!isForReal) {
    say(`Would remove ${identity.provider} (${identity.email}) from ${account.email} and end its sessions.`);
    return;
  }
  await removeIdentity(account.id, identity.uuid, { currentToken: null, mayBeLast: true });
  logger.info({ account: account.id, provider: identity.provider }, 'identity removed by the staff');
  say(`Removed ${identity.provider} (${identity.email}) from ${account.email}.`);
}
