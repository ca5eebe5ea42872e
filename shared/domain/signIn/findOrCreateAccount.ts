import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import type { Language } from '../../spec/languages.ts';
import { Account } from '../../tables/Account.ts';
import { Referral } from '../../tables/Referral.ts';
import { type ReferralClick, findReferrer } from '../affiliates/referrals.ts';
import { recordEvent } from '../outbox/recordEvent.ts';

/** Details for a new account. An existing account is not changed. */
export interface NewAccountDetails {
  firstName?: string;
  language?: Language;
  /** Referral link that the customer followed. */
  referralClick?: ReferralClick | null;
}

/**
 * Finds the account of a verified e-mail address, or creates it. A referral is recorded only when the account is created,
 * in the same transaction.
 */
export async function findOrCreateAccountByEmail(
  email: string,
  socialProvider: string,
  { firstName = '', language = 'en', referralClick = null }: NewAccountDetails = {},
  outerTransaction?: Transaction,
): Promise<Account> {
  const address = email.toLowerCase();
  const found = await Account.query(outerTransaction).findOne({ email: address });
  if (found !== undefined) return found;
  const referrer = referralClick === null ? null : await findReferrer(referralClick, address, outerTransaction);
  const insertAccount = async (transaction: Transaction) => {
    // Two simultaneous first sign-ins both insert; the unique address accepts one.
    const inserted = await Account.query(transaction)
      .insert({
        uuid: uuidv7(),
        email: address,
        first_name: firstName,
        language,
        social_provider: socialProvider,
        created_at: now(),
      })
      .onConflict('email')
      .ignore();
    // The insert that was ignored returns no id.
    const id = inserted.id as number | undefined;
    if (id !== undefined)
      await recordEvent(transaction, { accountId: id, type: 'account.created', subject: inserted.uuid });
    if (id !== undefined && referralClick !== null && referrer !== null) {
      const referral = {
        account_id: id,
        affiliate_id: referrer,
        clicked_at: referralClick.clickedAt,
        network: referralClick.network,
        created_at: now(),
      };
      await Referral.query(transaction).insert(referral);
    }
  };
  await (outerTransaction === undefined ? Account.transaction(insertAccount) : insertAccount(outerTransaction));
  return Account.query(outerTransaction).findOne({ email: address }).throwIfNotFound();
}
