import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ReferralClicks } from '../../tables/ReferralClicks.ts';

/**
 * Updates each affiliate's row of the day once per statement, in one order in all processes so that they never
 * deadlock.
 */
const COUNT_CLICKS = prepared(
  'count_referral_clicks',
  `INSERT INTO referral_clicks AS c (affiliate_id, day, clicks)
   SELECT id, cast(:day AS date), count(*) FROM unnest(cast(:affiliates AS bigint[])) AS id GROUP BY id ORDER BY id
   ON CONFLICT (affiliate_id, day) DO UPDATE SET clicks = c.clicks + excluded.clicks`,
);

/**
 * Counts a click on an affiliate's link. Clicks that arrive while a statement runs are batched into the next one; a
 * process that dies loses those it has not written. No payment depends on them.
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

/** Returns how often an affiliate's link was followed in total. */
export async function getReferralClickCount(affiliateId: number): Promise<number> {
  const [row] = (await ReferralClicks.query()
    .where({ affiliate_id: affiliateId })
    .sum('clicks as clicks')) as unknown as { clicks: number | string | null }[];
  return Number(row?.clicks ?? 0);
}
