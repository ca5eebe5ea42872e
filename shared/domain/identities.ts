import type { Transaction } from 'objection';
import { issuerOf, type ProviderIdentity, type ProviderName } from '../gateways/identity/index.ts';
import { now } from '../lib/clock.ts';
import { isEmail } from '../lib/validate.ts';
import { PROFILE_TEXT_MAX_CHARACTERS } from '../spec/limits.ts';
import { Account } from '../tables/Account.ts';
import { ApiKey } from '../tables/ApiKey.ts';
import { Identity } from '../tables/Identity.ts';
import { Session } from '../tables/Session.ts';
import { accountById, accountOfEmail } from './accounts.ts';
import type { FollowedLink } from './affiliates/referrals.ts';
import { lockAccount } from './credits.ts';
import { endGrantsOf } from './oauth/grants.ts';

/**
 * The account of somebody whom a provider knows: the one that they signed in to before, whatever their address is by
 * now; else the one of their address, made if there is none (spec: Session). Only an address that the provider has
 * verified links or makes anything, as anybody can claim any other.
 * @param link the referral link that they came by, if they did.
 * @returns null where the address is missing or not verified; `taken` where its account is another person's at that
 *   provider: addresses are handed on, and their accounts are not.
 */
export async function accountOfIdentity(
  provider: ProviderName,
  { subject, email, isEmailVerified, firstName }: ProviderIdentity,
  link: FollowedLink | null = null,
): Promise<Account | 'taken' | null> {
  const issuer = issuerOf(provider);
  const known = await Identity.query().findById([provider, issuer, subject]);
  if (known !== undefined) return accountById(known.account_id);
  if (email === null || !isEmailVerified || !isEmail(email)) return null;
  return Account.transaction(async (transaction) => {
    const { id } = await accountOfEmail(email, provider, { firstName: nameFrom(firstName), link }, transaction);
    const account = await lockAccount(transaction, id);
    const linked = await Identity.query(transaction).where({ account_id: id });
    const same = linked.find((other) => other.provider === provider && other.issuer === issuer);
    if (same !== undefined) return same.subject === subject ? account : 'taken';
    await Identity.query(transaction).insert({
      provider,
      issuer,
      subject,
      account_id: id,
      email: email.toLowerCase(),
      created_at: now(),
    });
    return linked.length === 0 && account.social_provider === LOCAL
      ? endLocalAccess(transaction, account, provider)
      : account;
  });
}

/** What the local sign-in writes down as the provider. */
export const LOCAL = 'dev';

/** Nobody has shown before that the address was theirs: whoever was let in on their word is not let in any more. */
async function endLocalAccess(transaction: Transaction, account: Account, provider: ProviderName): Promise<Account> {
  await Session.query(transaction).delete().where({ account_id: account.id });
  await ApiKey.query(transaction)
    .patch({ revoked_at: now() })
    .where({ account_id: account.id })
    .whereNull('revoked_at');
  await endGrantsOf(account.id, transaction);
  return account.$query(transaction).patchAndFetch({ social_provider: provider, active_key_count: 0 });
}

/** Through whom an account's owner signs in, in the order that they were linked. */
export async function identitiesOf(accountId: number): Promise<Identity[]> {
  return Identity.query().where({ account_id: accountId }).orderBy(['created_at', 'provider']);
}

function nameFrom(text: string): string {
  const name = text.replaceAll(/[\p{Cc}\uFFFD]/gu, ' ').trim();
  return name.slice(0, PROFILE_TEXT_MAX_CHARACTERS).toWellFormed();
}
