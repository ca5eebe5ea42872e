import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { isRejection, prepared, runStatement } from '../../lib/db.ts';
import { ReferralClicks } from '../../tables/ReferralClicks.ts';

/** Each affiliate's row of the day once a statement, whatever the number of clicks; in one order over all processes. */
const COUNT_CLICKS = prepared(
  'count_referral_clicks',
  `INSERT INTO referral_clicks AS c (affiliate_id, day, clicks)
   SELECT id, cast(:day AS date), count(*) FROM unnest(cast(:affiliates AS bigint[])) AS id GROUP BY id ORDER BY id
   ON CONFLICT (affiliate_id, day) DO UPDATE SET clicks = c.clicks + excluded.clicks`,
);

/**
 * Counts a click on an affiliate's link. Nobody should wait for it: what comes while one statement runs goes together
 * in the next, and a process that dies takes along what it had not counted yet. No money hangs on it.
 */
export const countReferralClick = createBatcher<number, void>({
  maxItems: 1_000,
  maxInFlight: 1,
  isItemError: isRejection,
  run: async (affiliates) => {
    await runStatement(COUNT_CLICKS, { affiliates, day: formatUtcDay(now()) });
    return [];
  },
});

/** How often an affiliate's link was followed, ever. */
export async function getReferralClickCount(affiliateId: number): Promise<number> {
  const [row] = (await ReferralClicks.query()
    .where({ affiliate_id: affiliateId })
    .sum('clicks as clicks')) as unknown as { clicks: number | string | null }[];
  return Number(row?.clicks ?? 0);
}
