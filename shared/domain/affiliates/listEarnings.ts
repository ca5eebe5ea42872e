import { Commission } from '../../tables/Commission.ts';
import { Payout } from '../../tables/Payout.ts';

/** Number of rows in the lists of an affiliate. */
const RECENT_ROWS = 12;

/** Lists the latest commissions of an affiliate, newest first. */
export async function listRecentCommissions(affiliateId: number): Promise<Commission[]> {
  return Commission.query()
    .where({ affiliate_id: affiliateId })
    .orderBy('paid_at', 'desc')
    .orderBy('id', 'desc')
    .limit(RECENT_ROWS);
}

/** Lists the latest payouts of an affiliate, newest first. */
export async function listRecentPayouts(affiliateId: number): Promise<Payout[]> {
  return Payout.query()
    .where({ affiliate_id: affiliateId })
    .orderBy('month', 'desc')
    .orderBy('created_at', 'desc')
    .limit(RECENT_ROWS);
}
