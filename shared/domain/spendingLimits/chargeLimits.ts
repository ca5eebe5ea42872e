import { createLruCache } from '../../lib/lruCache.ts';
import { perService } from '../../lib/serviceScope.ts';

/*
 * Spending limits in the statements that decide about a create. `l` is the row of `spending_limits`.
 */

/**
 * Builds the start of the window that a charge belongs to. A charge whose clock is behind that of an earlier one stays in
 * the window of that one.
 * @param at expression of the time of the charge.
 */
const buildWindowStart = (at: string): string =>
  `CASE l.period WHEN 'total' THEN NULL ELSE greatest(l.window_start, date_trunc(l.period, ${at}, 'UTC')) END`;

/** Builds the credits that were spent in the window of a charge before it. */
export const buildWindowUse = (at: string): string =>
  `CASE WHEN l.window_start IS DISTINCT FROM (${buildWindowStart(at)}) THEN 0 ELSE l.used END`;

/**
 * Common table expressions that decide about the spending limits of the requests in `account`, whose accounts are
 * locked, and produce `locked`. The limit is locked after the account and without a condition on what may change, so
 * that its newest version is read: that of a joined row would be the version of the snapshot.
 *
 * A limit that was inserted while the statement waited for the account is not in its snapshot. Limits are numbered
 * without gaps, so the snapshot is too old exactly if it lacks the last one of the locked account: `stale`. A credential
 * has one limit, so that is of interest only for one without.
 */
export const DECIDE_LIMITS = `
   ), spending AS MATERIALIZED (
     SELECT r.uuid, l.number, l.credits, l.period, ${buildWindowUse('r.created_at')} AS used,
            ${buildWindowStart('r.created_at')} AS window_start,
            CASE WHEN l.window_start IS DISTINCT FROM (${buildWindowStart('r.created_at')})
                 THEN r.generation_count ELSE l.generation_count_at_window_start END AS generation_count_at_window_start
       FROM account r
       JOIN spending_limits l
         ON l.account_id = ANY (cast(:accounts AS bigint[])) AND l.account_id = r.id
        AND (l.key_number = r.api_key_number OR l.client_id = r.oauth_client_id)
        FOR NO KEY UPDATE OF l
   ), locked AS MATERIALIZED (
     SELECT account.*,
            CASE WHEN account.decision NOT IN ('accepted', 'insufficient_credits') OR NOT account.has_credential
                   THEN account.decision
                 WHEN spending.number IS NULL AND account.spending_limit_count > 0
                      AND (SELECT newest.number FROM spending_limits newest
                            WHERE newest.account_id = account.id AND newest.number = account.spending_limit_count) IS NULL
                   THEN 'stale'
                 WHEN spending.used + account.credits > spending.credits THEN 'spending_limit_reached'
                 ELSE account.decision END AS outcome
       FROM account
       LEFT JOIN spending ON spending.uuid = account.uuid`;

/**
 * Common table expression that adds the charges to their limits. Every column of a constraint is written from the
 * locked row: Postgres checks constraints on the row version that the statement saw first.
 */
export const COUNT_SPENDING = `
   ), spent AS (
     UPDATE spending_limits l
        SET used = spending.used + charged.credits, credits = spending.credits, period = spending.period,
            window_start = spending.window_start,
            generation_count_at_window_start = spending.generation_count_at_window_start
       FROM charged JOIN spending ON spending.uuid = charged.uuid
      WHERE l.account_id = ANY (cast(:accounts AS bigint[])) AND l.account_id = charged.id
        AND l.number = spending.number AND spending.credits IS NOT NULL`;

/** Accounts that have had a spending limit. Their charges go to the statement that checks limits directly. */
const accountsWithLimits = perService(() => createLruCache<number, true>(50_000));

export function rememberLimits(accountId: number): void {
  accountsWithLimits().set(accountId, true);
}

export function mayHaveLimits(accountId: number): boolean {
  return accountsWithLimits().has(accountId);
}
