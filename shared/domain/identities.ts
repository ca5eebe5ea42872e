import type { ProviderIdentity, ProviderName } from '../gateways/identity/index.ts';
import { now } from '../lib/clock.ts';
import { isEmail } from '../lib/validate.ts';
import { PROFILE_TEXT_MAX_CHARACTERS } from '../spec/limits.ts';
import { Account } from '../tables/Account.ts';
import { Identity } from '../tables/Identity.ts';
import { accountById, accountOfEmail } from './accounts.ts';
import type { FollowedLink } from './affiliates/referrals.ts';

/**
 * The account of somebody whom a provider knows: the one that they signed in to before, whatever their address is by
 * now; else the one of their address, made if there is none (spec: Session). Only an address that the provider has
 * verified links or makes anything, as anybody can claim any other.
 * @param link the referral link that they came by, if they did.
 * @returns null where the address is missing or not verified.
 */
export async function accountOfIdentity(
  provider: ProviderName,
  identity: ProviderIdentity,
  link: FollowedLink | null = null,
): Promise<Account | null> {
  const { subject, email } = identity;
  const known = await Identity.query().findById([provider, subject]);
  if (known !== undefined) return accountById(known.account_id);
  if (email === null || !identity.isEmailVerified || !isEmail(email)) return null;
  return Account.transaction(async (transaction) => {
    const account = await accountOfEmail(
      email,
      provider,
      { firstName: nameFrom(identity.firstName), link },
      transaction,
    );
    // Of several first sign-ins at once one gets here first, and the others follow it.
    await Identity.query(transaction)
      .insert({ provider, subject, account_id: account.id, email: email.toLowerCase(), created_at: now() })
      .onConflict(['provider', 'subject'])
      .ignore();
    const linked = await Identity.query(transaction).findById([provider, subject]).throwIfNotFound();
    return linked.account_id === account.id
      ? account
      : Account.query(transaction).findById(linked.account_id).throwIfNotFound();
  });
}

/** Through whom an account's owner signs in, in the order that they were linked. */
export async function identitiesOf(accountId: number): Promise<Identity[]> {
  return Identity.query().where({ account_id: accountId }).orderBy(['created_at', 'provider']);
}

function nameFrom(text: string): string {
  const name = text.replaceAll(/[\p{Cc}\uFFFD]/gu, ' ').trim();
  return name.slice(0, PROFILE_TEXT_MAX_CHARACTERS).toWellFormed();
}
