import { config } from '../../lib/config.ts';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { generateReferralCode } from './referralCodes.ts';

/** Makes an account an affiliate; one that is one already stays as it is, with the same code. */
export async function enrollAffiliate(accountId: number): Promise<Affiliate> {
  const known = await Affiliate.query().findById(accountId);
  if (known !== undefined) return known;
  return Account.transaction(async (transaction) => {
    for (;;) {
      // Of several requests at once one writes; and in the unlikely case that the code is somebody's, another one is made.
      await Affiliate.query(transaction)
        .insert({ account_id: accountId, code: generateReferralCode(), created_at: now() })
        .onConflict()
        .ignore();
      const affiliate = await Affiliate.query(transaction).findById(accountId);
      if (affiliate === undefined) continue;
      await Account.query(transaction).findById(accountId).patch({ is_affiliate: true });
      return affiliate;
    }
  });
}

/**
 * The affiliate that an account is.
 * @throws ServiceError not_found before it has enrolled.
 */
export async function getAffiliate(accountId: number): Promise<Affiliate> {
  const affiliate = await Affiliate.query().findById(accountId);
  if (affiliate !== undefined) return affiliate;
  throw new ServiceError(
    'not_found',
    'The account is no affiliate yet: enrol first, with POST /api/affiliate/enroll/.',
  );
}

/** The address that brings people in an affiliate's name. */
export function getReferralUrl({ code }: Affiliate): string {
  return `${config.BASE_URL}/r/${code}`;
}
