import { setTimeout as delay } from 'node:timers/promises';
import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import { WORKER_APPLICATION_NAME } from '../../lib/database/pool.ts';
import { isDraining } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { creditPeriodsRenewed } from '../../lib/metrics.ts';
import { Account } from '../../tables/Account.ts';
import { withAccountLock } from './ledger.ts';
import { RENEW_ACCOUNT_PERIOD, RENEW_CREDIT_PERIODS, renewCreditPeriods } from './periods.ts';

/**
 * Accounts that one statement renews while other sessions use the database: few, since creates by these accounts wait
 * for its end, and others for processor time. A larger batch takes less time per account.
 */
const SMALL_BATCH_SIZE = 10;

/** The same while only workers use the database. */
const LARGE_BATCH_SIZE = 100;

/** Large batches that run at the same time, on a processor each. */
const LARGE_BATCHES_AT_ONCE = 2;

/** Accounts that are renewed separately at a time. */
const ONE_BY_ONE_MAX = 1_000;

/** While other sessions use the database, statements of renewals run for a quarter of the time. */
const PAUSE_FACTOR = 3;

/** Shorter than the interval of the job, so that one process at a time renews. */
const RUN_MAX_MS = 25_000;

/**
 * True if a session that is not a worker's was active within the last second. Sessions of another role, whose state is
 * hidden, count as active.
 */
const IS_DATABASE_IN_USE = `EXISTS (
  SELECT FROM pg_stat_activity
   WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
     AND application_name IS DISTINCT FROM '${WORKER_APPLICATION_NAME}'
     AND (state <> 'idle' OR state_change > clock_timestamp() - interval '1 second') IS NOT FALSE)`;

/**
 * Renews accounts that no other transaction keeps locked, in the order of their periods' ends, from an end on. Commits
 * without waiting for the disk: after a crash before the flush the periods are due again, and nothing was built on
 * their renewal, since each commit that is waited for flushes the earlier ones.
 *
 * The bound is a comparison of rows, each size a statement of its own, and OFFSET 0 keeps the order of the index: all
 * three for the planner, which would sort all accounts otherwise.
 */
const prepareBatch = (name: string, size: number) =>
  prepared(
    name,
    `SELECT accounts, last_end AS "lastEnd", skipped, ${IS_DATABASE_IN_USE} AS "isDatabaseInUse",
            set_config('synchronous_commit', 'off', true)
       FROM ${RENEW_CREDIT_PERIODS.installedName}(
         ARRAY (
           SELECT a.id FROM accounts a, LATERAL (
             SELECT FROM subscriptions s
              WHERE s.id = a.subscription_id AND s.status = 'active' AND a.period_end < s.paid_until OFFSET 0) s
            WHERE a.plan_slug IS NOT NULL AND a.period_end <= :until AND (a.period_end, a.id) >= (:from, 0)
              AND a.id <> ALL (cast(:skipped AS bigint[]))
            ORDER BY a.period_end LIMIT ${size} FOR NO KEY UPDATE OF a SKIP LOCKED
         ), :until, :now)`,
  );

export const RENEW_SMALL_BATCH = prepareBatch('renew_credit_periods', SMALL_BATCH_SIZE);
export const RENEW_LARGE_BATCH = prepareBatch('renew_many_credit_periods', LARGE_BATCH_SIZE);

/** Before the end of every period. */
const START = new Date(0);

interface RenewedBatch {
  accounts: number;
  /** End of the last of these periods; null without any. */
  lastEnd: Date | null;
  /** Accounts that have no plan for their next month. A run leaves them out from then on. */
  skipped: number[];
  isDatabaseInUse: boolean;
}

/**
 * Renews the credit period of every account whose month has ended: in small batches with pauses while other sessions
 * than those of workers use the database, so that requests continue at their usual speed when very many months end at
 * once; otherwise in large batches without pauses. What is left after 25 seconds, or at a shutdown, is renewed by the
 * next run. After an outage an account is renewed once for each month that has passed, in order.
 * @returns the number of renewed periods.
 */
export async function renewDueCreditPeriods({ runMaxMs = RUN_MAX_MS } = {}): Promise<number> {
  const startedAt = performance.now();
  const skipped: number[] = [];
  let [renewedCount, pausedMs, from, isDatabaseInUse] = [0, 0, START, true];
  while (!isDraining() && performance.now() - startedAt < runMaxMs) {
    const batchStartedAt = performance.now();
    const { accounts, lastEnd, ...batch } = await (isDatabaseInUse
      ? renewBatch(RENEW_SMALL_BATCH, from, skipped)
      : renewLargeBatches(from, skipped));
    renewedCount += accounts;
    creditPeriodsRenewed.inc(accounts);
    if (accounts === 0 && batch.skipped.length === 0 && from === START) break;
    skipped.push(...batch.skipped);
    // Accounts that were locked, or whose next month has ended as well, are found in another pass.
    from = lastEnd ?? START;
    isDatabaseInUse = batch.isDatabaseInUse;
    if (!isDatabaseInUse || accounts < SMALL_BATCH_SIZE) continue;
    const pauseMs = PAUSE_FACTOR * (performance.now() - batchStartedAt);
    await delay(pauseMs);
    pausedMs += pauseMs;
  }
  if (skipped.length > 0) logger.error({ accounts: skipped }, 'credit periods without a plan not renewed');
  if (renewedCount > 0) logger.info({ renewedCount, pausedMs: Math.round(pausedMs) }, 'credit periods renewed');
  return renewedCount;
}

/** Renews several batches at the same time, each of accounts that the others have not locked. */
async function renewLargeBatches(from: Date, skipped: readonly number[]): Promise<RenewedBatch> {
  const batches = await Promise.all(
    Array.from({ length: LARGE_BATCHES_AT_ONCE }, () => renewBatch(RENEW_LARGE_BATCH, from, skipped)),
  );
  return batches.reduce((sum, { accounts, lastEnd, skipped: more, isDatabaseInUse }) => ({
    accounts: sum.accounts + accounts,
    lastEnd: sum.lastEnd !== null && (lastEnd === null || lastEnd < sum.lastEnd) ? sum.lastEnd : lastEnd,
    skipped: [...sum.skipped, ...more],
    isDatabaseInUse: sum.isDatabaseInUse || isDatabaseInUse,
  }));
}

async function renewBatch(statement: Statement, from: Date, skipped: readonly number[]): Promise<RenewedBatch> {
  try {
    const [batch] = await runStatement<RenewedBatch>(statement, { now: now(), until: now(), from, skipped });
    return batch as RenewedBatch;
  } catch (error) {
    if (!isRejection(error)) throw error;
    logger.error({ err: error }, 'batch renewal of credit periods failed; renewing accounts one by one');
    return { accounts: await renewOneByOne(), lastEnd: null, skipped: [], isDatabaseInUse: true };
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
      const [batch] = await runStatement<Pick<RenewedBatch, 'accounts'>>(RENEW_ACCOUNT_PERIOD, bindings);
      renewedCount += batch?.accounts ?? 0;
    } catch (error) {
      if (!isRejection(error)) throw error;
      logger.error({ err: error, accountId: id }, 'credit period not renewed');
    }
  }
  return renewedCount;
}

/**
 * Grants the months of one account that have started, ahead of the job: until it has run, a create must not be rejected
 * for lack of credits that are due.
 * @returns whether a month was granted, here or by the job meanwhile.
 */
export async function grantDueMonths(accountId: number): Promise<boolean> {
  const due = await Account.query().findById(accountId).where('period_end', '<=', now()).select('period_index');
  if (due === undefined) return false;
  return withDueGrants(accountId, async (_, { period_index: index }) => index !== due.period_index);
}

/**
 * Runs a transaction that holds the account's lock and in which the months that have started are granted, so that
 * nothing is rejected or charged for lack of credits that are due.
 */
export function withDueGrants<Result>(
  accountId: number,
  work: (transaction: Transaction, account: Account, at: Date) => Promise<Result>,
): Promise<Result> {
  return withAccountLock(accountId, async (transaction, locked) => {
    const at = now();
    return work(transaction, await renewCreditPeriods(transaction, locked, at), at);
  });
}
