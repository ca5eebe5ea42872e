import { setTimeout as delay } from 'node:timers/promises';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { runStatement } from '../../lib/database/preparedStatements.ts';
import { isDraining } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { creditPeriodsRenewed } from '../../lib/metrics.ts';
import { Account } from '../../tables/Account.ts';
import { prepareRenewal, RENEW_ACCOUNT_PERIOD } from './periods.ts';

/**
 * Accounts that one statement renews: few, since creates by these accounts wait for its end, and others for processor
 * time. A larger batch takes less time per account.
 */
const BATCH_SIZE = 10;

/** Accounts that are renewed separately at a time. */
const ONE_BY_ONE_MAX = 1_000;

/** While very many months end, statements of renewals run for a quarter of the time. */
const PAUSE_FACTOR = 3;

/** Shorter than the interval of the job, so that one process at a time renews. */
const RUN_MAX_MS = 25_000;

/**
 * Renews from a period's end on, so that the dead index entries of earlier batches are not read again. The bound is a
 * comparison of rows: between two bounds of one column the planner expects so few accounts that it sorts all.
 *
 * Commits without waiting for the disk. If Postgres crashes before the flush, the periods are due again, and nothing was
 * built on their renewal: each commit that is waited for flushes the earlier ones.
 */
export const RENEW_DUE_PERIODS = prepareRenewal('renew_credit_periods', 'AND (a.period_end, a.id) >= (:from, 0)', {
  limit: `ORDER BY a.period_end LIMIT ${BATCH_SIZE}`,
  columns: `, set_config('synchronous_commit', 'off', true)`,
});

/** Before the end of every period. */
const START = new Date(0);

interface RenewedBatch {
  accounts: number;
  /** End of the last of these periods; null without any. */
  lastEnd: Date | null;
}

/**
 * Renews the credit period of every account whose month has ended, in small batches with pauses, so that requests
 * continue at their usual speed when very many months end at once. What is left after 25 seconds, or at a shutdown, is
 * renewed by the next run. After an outage an account is renewed once for each month that has passed, in order.
 * @param options.pauseFactor pause after a full batch, as a multiple of what it took.
 * @returns the number of renewed periods.
 */
export async function renewDueCreditPeriods({
  pauseFactor = PAUSE_FACTOR,
  runMaxMs = RUN_MAX_MS,
} = {}): Promise<number> {
  const startedAt = performance.now();
  let [renewedCount, pausedMs, from] = [0, 0, START];
  while (!isDraining() && performance.now() - startedAt < runMaxMs) {
    const batchStartedAt = performance.now();
    const { accounts, lastEnd } = await renewBatch(from);
    renewedCount += accounts;
    creditPeriodsRenewed.inc(accounts);
    if (accounts === 0 && from === START) break;
    // Accounts that were locked, or whose next month has ended as well, are found in another pass.
    from = lastEnd ?? START;
    if (accounts < BATCH_SIZE || pauseFactor === 0) continue;
    const pauseMs = pauseFactor * (performance.now() - batchStartedAt);
    await delay(pauseMs);
    pausedMs += pauseMs;
  }
  if (renewedCount > 0) logger.info({ renewedCount, pausedMs: Math.round(pausedMs) }, 'credit periods renewed');
  return renewedCount;
}

async function renewBatch(from: Date): Promise<RenewedBatch> {
  try {
    const [batch] = await runStatement<RenewedBatch>(RENEW_DUE_PERIODS, { now: now(), until: now(), from });
    return batch as RenewedBatch;
  } catch (error) {
    if (!isRejection(error)) throw error;
    logger.error({ err: error }, 'batch renewal of credit periods failed; renewing accounts one by one');
    return { accounts: await renewOneByOne(), lastEnd: null };
  }
}

/** Renews due accounts separately, so that one that the database rejects does not block the others. */
async function renewOneByOne(): Promise<number> {
  const due = await Account.query()
    .select('accounts.id')
    // Suspended and lapsed accounts are not due, and must not fill the batch.
    .innerJoin('subscriptions', 'subscriptions.id', 'accounts.subscription_id')
    .where('subscriptions.status', 'active')
    .whereNotNull('accounts.plan_slug')
    .where('accounts.period_end', '<=', now())
    .whereColumn('accounts.period_end', '<', 'subscriptions.paid_until')
    .orderBy('accounts.period_end')
    .limit(ONE_BY_ONE_MAX);
  let renewedCount = 0;
  for (const { id } of due) {
    try {
      const bindings = { now: now(), until: now(), account: id };
      const [batch] = await runStatement<RenewedBatch>(RENEW_ACCOUNT_PERIOD, bindings);
      renewedCount += batch?.accounts ?? 0;
    } catch (error) {
      if (!isRejection(error)) throw error;
      logger.error({ err: error, accountId: id }, 'credit period not renewed');
    }
  }
  return renewedCount;
}
