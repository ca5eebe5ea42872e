import { setTimeout } from 'node:timers/promises';
import { createBatcher } from '../../lib/batcher.ts';
import { config } from '../../lib/config.ts';
import { isDuplicate, isRejection, isOutcomeUnknown, isStatementTimeout } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { logger } from '../../lib/logger.ts';
import { creditsBurned } from '../../lib/metrics.ts';
import { Generation } from '../../tables/Generation.ts';
import { runChargeStatement, type StatementOutcome } from './chargeStatement.ts';
import type { ChargeOutcome, Debit } from './debit.ts';
import { findReplayed, REPLAYABLE } from './findReplayed.ts';

const CHARGE_ATTEMPTS = 3;
/** Time after the first attempt until which a lost outcome is looked up. */
const getLookupTimeoutMs = () => 2 * config.DATABASE_TIMEOUT_MS;
/** Time after the first attempt until which locked accounts are looked up, so that a second one ends within five seconds. */
const getLockLookupTimeoutMs = () => 1.2 * config.DATABASE_TIMEOUT_MS;

/** `account_locked`: nothing was charged, because another transaction kept the account locked. */
type BatchOutcome = StatementOutcome | 'account_locked';

/**
 * Charges a batch exactly once. After a lost response the batch may have been committed, or may still be: a lookup by
 * uuid finds what was charged, and the rest is charged now. If the lost statement commits meanwhile, the primary key
 * rejects the second one, and another lookup follows. A rejection of the second statement also needs a lookup first:
 * the lost one may have used the last slot or the last credits.
 *
 * While the database does not respond, a request fails within 5 s with the default DATABASE_TIMEOUT_MS of 1.5 s: that
 * long in the local queue (nothing was sent, so nothing is charged), as long for a connection, and 0.5 s more for the
 * response. With a connection at once, response and lookup together take twice DATABASE_TIMEOUT_MS at most. It takes
 * longer only if the database responds to the lookup and hangs again during the second charge.
 *
 * After a lost response only `accepted` and `replayed` are certain: the lost statement may still arrive after a second
 * one was rejected, and a commit that waits for a synchronous standby is not visible to the lookup. Every other outcome
 * is `unknown`.
 *
 * A statement that was canceled had no effect. It may have waited for an account that another transaction keeps locked: the
 * requests of other accounts are then charged without it, if that one was found in time.
 */
async function chargeExactlyOnce(charges: Debit[]): Promise<BatchOutcome[]> {
  const outcomes = new Map<string, BatchOutcome>();
  const startedAt = performance.now();
  const lookupDeadline = startedAt + getLookupTimeoutMs();
  let remaining = charges;
  let responseLost = false;
  let mayBeCharged = false;
  const nullIfLost = (error: unknown): null => {
    if (responseLost) return null;
    throw error;
  };
  /** The second statement was committed by then: what it accepted is charged, also if this lookup fails. */
  const noneIfLookupFailed = (): string[] => {
    responseLost = true;
    return [];
  };
  for (let attempt = 1; remaining.length > 0; attempt += 1) {
    try {
      const results = await runChargeStatement(remaining);
      const rejected = remaining.filter((_, index) => results[index] !== 'accepted');
      const charged = new Set(mayBeCharged ? await findCharged(rejected).catch(noneIfLookupFailed) : []);
      // As in the statement, an invalid key takes precedence over a replay.
      const replayed = await findReplayed(
        remaining.filter((_, index) => REPLAYABLE.has(results[index] as StatementOutcome)),
      );
      remaining.forEach((charge, index) => {
        const outcome = (replayed.get(charge.uuid) ?? results[index]) as StatementOutcome;
        outcomes.set(charge.uuid, charged.has(charge.uuid) ? 'accepted' : toCertainOutcome(outcome, responseLost));
      });
      remaining = [];
    } catch (error) {
      if (attempt === 1 && remaining.length > 1 && isStatementTimeout(error)) {
        const lookup = findLockedAccounts(remaining).catch(() => null);
        const locked = await resolveWithin(startedAt + getLockLookupTimeoutMs(), lookup);
        if (locked === null || locked.size === 0 || locked.size === remaining.length) throw error;
        logger.warn(
          { accountIds: [...locked] },
          'accounts are locked; other creates of the batch are charged without them',
        );
        for (const { uuid, account_id: id } of remaining) if (locked.has(id)) outcomes.set(uuid, 'account_locked');
        remaining = remaining.filter(({ uuid }) => !outcomes.has(uuid));
        continue;
      }
      const isLost = isOutcomeUnknown(error);
      responseLost ||= isLost;
      mayBeCharged = true;
      const charged =
        attempt === CHARGE_ATTEMPTS || !(isLost || isDuplicate(error))
          ? null
          : await (isLost ? resolveWithin(lookupDeadline, findCharged(remaining)) : findCharged(remaining)).catch(
              nullIfLost,
            );
      if (charged === null && !responseLost) throw error;
      if (charged === null) logger.error({ err: error, charges: remaining.length }, 'charge outcome unknown');
      for (const uuid of charged ?? []) outcomes.set(uuid, 'accepted');
      if (charged === null) for (const { uuid } of remaining) outcomes.set(uuid, 'unknown');
      remaining = remaining.filter(({ uuid }) => !outcomes.has(uuid));
    }
  }
  for (const { uuid, model, credits, is_test: isTest } of charges) {
    if (outcomes.get(uuid) === 'accepted' && !isTest) creditsBurned.inc({ model }, credits);
  }
  return charges.map(({ uuid }) => outcomes.get(uuid) as BatchOutcome);
}

const FIND_UNLOCKED_ACCOUNTS = prepared(
  'find_unlocked_accounts',
  'SELECT id FROM accounts WHERE id = ANY (cast(:accounts AS bigint[])) FOR NO KEY UPDATE SKIP LOCKED',
);

/** Returns the accounts that another transaction keeps locked, or that do not exist. There is one request of an account. */
async function findLockedAccounts(charges: Debit[]): Promise<Set<number>> {
  const accounts = charges.map((charge) => charge.account_id);
  const unlocked = await runStatement<{ id: number }>(FIND_UNLOCKED_ACCOUNTS, { accounts });
  const locked = new Set(accounts);
  for (const { id } of unlocked) locked.delete(id);
  return locked;
}

function toCertainOutcome(outcome: StatementOutcome, responseLost: boolean): StatementOutcome {
  return responseLost && outcome !== 'accepted' && outcome !== 'replayed' ? 'unknown' : outcome;
}

/** @param deadline by the clock of `performance`. @returns null if the lookup does not finish by then. */
async function resolveWithin<Found>(deadline: number, lookup: Promise<Found>): Promise<Found | null> {
  const abortTimer = new AbortController();
  const timeout = setTimeout(Math.max(0, deadline - performance.now()), null, { signal: abortTimer.signal });
  try {
    return await Promise.race([lookup, timeout]);
  } finally {
    timeout.catch(() => {});
    abortTimer.abort();
  }
}

async function findCharged(charges: Debit[]): Promise<string[]> {
  if (charges.length === 0) return [];
  const uuids = charges.map(({ uuid }) => uuid);
  const accounts = charges.map((charge) => charge.account_id);
  const rows = await Generation.query().whereIn('uuid', uuids).whereIn('account_id', accounts).select('uuid');
  return rows.map(({ uuid }) => uuid);
}

/** Time between the starts of two statements, so that each charges several creates: small ones take more processor time. */
const BATCH_INTERVAL_MS = 3;
/** With fewer creates at a time, each is charged at once. */
const BATCH_INTERVAL_MIN_ITEMS = 4;

const chargeInBatch = createBatcher<Debit, BatchOutcome>({
  maxItems: 64,
  maxInFlight: 2,
  intervalMs: BATCH_INTERVAL_MS,
  intervalMinItems: BATCH_INTERVAL_MIN_ITEMS,
  waitTimeout: DB_WAIT_TIMEOUT,
  // Charges of one account would wait for each other's row lock. Here they wait without holding a connection.
  getKey: (charge) => charge.account_id,
  isItemError: isRejection,
  run: chargeExactlyOnce,
});

/** A charge that took no part in a statement, and that counts as a statement that Postgres canceled. */
class AccountLockedError extends Error {
  readonly code = '57014';
}

/** Runs of a charge that decided nothing. Each more than one needs a new limit or a changed key within milliseconds. */
const UNDECIDED_RUNS_MAX = 10;

/**
 * Charges and queues one generation, batched with concurrent requests, or returns the reason for the rejection. A run
 * that decides nothing because of the account's spending limits or API keys is repeated in a batch of its own, so that
 * its errors do not affect the requests that the first batch has decided.
 */
export async function chargeGeneration(charge: Debit): Promise<ChargeOutcome> {
  for (let run = 0; run < UNDECIDED_RUNS_MAX; run += 1) {
    const outcome = await chargeInBatch(charge);
    if (outcome === 'account_locked') throw new AccountLockedError('timed out waiting for the lock of the account');
    if (outcome !== 'limits_apply' && outcome !== 'stale') return outcome;
  }
  return 'credentials_changing';
}
