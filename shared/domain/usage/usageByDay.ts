import { listLastUtcDays } from '../../lib/calendar.ts';
import { getModelInfo } from '../../lib/catalog/knownModels.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ensureModelsKnown } from '../catalog/knownModels.ts';
import type { UsageSum } from './usageByKey.ts';

/** Usage of the last days, for charts. */
export interface UsageByDay {
  /** UTC days as YYYY-MM-DD, today last. */
  days: string[];
  /** Models that were used in these days, the most expensive first, with a sum for each day. */
  models: { name: string; total: UsageSum; days: UsageSum[] }[];
}

const FIND_USAGE_BY_DAY = prepared(
  'find_usage_by_day',
  `SELECT to_char(day, 'YYYY-MM-DD') AS day, model, credits, generations
     FROM usage_days WHERE account_id = :accountId AND day >= cast(:since AS date)`,
);

/** Reads the usage of an account by day and model. @param count of days, today included. */
export async function getUsageByDay(accountId: number, count: number): Promise<UsageByDay> {
  const days = listLastUtcDays(now(), count);
  const rows = await runStatement<UsageSum & { day: string; model: string }>(FIND_USAGE_BY_DAY, {
    accountId,
    since: days[0],
  });
  const slugs = [...new Set(rows.map(({ model }) => model))];
  await ensureModelsKnown(slugs);
  const models = slugs.map((slug) => {
    const own = rows.filter(({ model }) => model === slug);
    const byDay = new Map(own.map((row) => [row.day, row]));
    return {
      name: getModelInfo(slug).name,
      total: own.reduce(addSums, NO_USE),
      days: days.map((day) => byDay.get(day) ?? NO_USE),
    };
  });
  return { days, models: models.toSorted((a, b) => b.total.credits - a.total.credits) };
}

const NO_USE: UsageSum = { credits: 0, generations: 0 };

const addSums = (a: UsageSum, b: UsageSum): UsageSum => ({
  credits: a.credits + b.credits,
  generations: a.generations + b.generations,
});
