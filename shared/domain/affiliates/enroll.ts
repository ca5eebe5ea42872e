import type { Transaction } from 'objection';
import { config } from '../../lib/config.ts';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { generateReferralCode } from './referrals.ts';

/**
 * Enrolls an account as an affiliate. An account that is enrolled already keeps its code.
 * @throws ServiceError validation_error while the account is being deleted.
 */
export async function enrollAffiliate(caller: Caller): Promise<Affiliate> {
  const { accountId } = caller;
  return withAccountOfCaller(caller, async (transaction, account) => {
    assertNotDeleting(account);
    for (;;) {
      const affiliate = await Affiliate.query(transaction).findById(accountId);
      if (affiliate !== undefined) return affiliate;
      await account.$query(transaction).patch({ is_affiliate: true });
      // In the unlikely case that the code is taken, another is generated.
      await Affiliate.query(transaction)
        .insert({ account_id: accountId, code: generateReferralCode(), created_at: now() })
        .onConflict()
        .ignore();
    }
  });
}

/**
 * Returns the affiliate of an account.
 * @throws ServiceError not_found if the account is not enrolled.
 */
export async function getAffiliate(accountId: number, transaction?: Transaction): Promise<Affiliate> {
  const affiliate = await Affiliate.query(transaction).findById(accountId);
  if (affiliate !== undefined) return affiliate;
  throw new ServiceError('not_found', 'The account is not an affiliate yet. Send POST /api/affiliate/enroll/ first.');
}

/** Returns the referral link of an affiliate. */
export function getReferralUrl({ code }: Affiliate): string {
  return `${config.BASE_URL}/r/${code}`;
}
