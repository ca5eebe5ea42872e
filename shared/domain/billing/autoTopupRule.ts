import type { Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds } from '../../lib/clock.ts';
import { type Bindings, prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { AUTO_TOPUP_INTERVAL_MS } from '../../spec/limits.ts';

/*
 * The rule for automatic top-ups: an account may top up automatically, and needs to. The claim, the charge, its retry,
 * the sweep and the prediction of an estimate all evaluate these expressions.
 */

/** A create waits this long for an automatic top-up; for the one of another create, only until the process stops. */
export const AUTO_TOPUP_WAIT_TIMEOUT_MS = 12_000;

/**
 * State of the automatic top-ups of an account, for a create that the balance does not cover or a recorded trigger.
 * - `due`: a top-up may be claimed now.
 * - `pending`: one was claimed a moment ago, and its outcome is not known yet.
 * - `unsettled`: the same for longer than a create waits. The card may have been charged.
 * - `processing`: the bank takes longer for the payment, which may be days.
 * - `none`: none is in progress, and none may be claimed.
 */
export type AutoTopupState = 'due' | 'pending' | 'unsettled' | 'processing' | 'none';

/**
 * Builds the condition that the account `a` may top up automatically, and needs to.
 * @param credits expression for the credits that a create needs; null for the threshold.
 */
const buildNeed = (credits: string): string => `(
    a.auto_topup_enabled AND a.suspended_at IS NULL AND a.deletion_requested_at IS NULL
    AND a.plan_slug IS NOT NULL AND a.spendable_until > :now
    AND a.balance < coalesce(${credits}, a.auto_topup_threshold_credits))`;

/** Joins the automatic top-up of the account `a` whose outcome is not known; there is at most one. */
export const JOIN_PENDING_TOPUP = `
  LEFT JOIN topups pending
    ON pending.account_id = a.id AND pending.kind = 'automatic' AND pending.status = 'pending'`;

/**
 * Builds the expression for the {@link AutoTopupState} of the account `a`. While the outcome of a top-up is unknown,
 * another could be a second charge for the same need. Only a burn may lead to a top-up because of the threshold.
 * @param credits as of the need.
 */
export const buildAutoTopupState = (credits: string): string =>
  `CASE WHEN NOT a.auto_topup_enabled THEN 'none'
       WHEN pending.created_at > :waitedSince THEN 'pending'
       WHEN pending.stripe_payment_intent_id IS NOT NULL THEN 'processing'
       WHEN pending.uuid IS NOT NULL THEN 'unsettled'
       WHEN ${buildNeed(credits)}
         AND (${credits} IS NOT NULL OR a.auto_topup_triggered_at IS NOT NULL)
         AND (a.auto_topup_claimed_at IS NULL OR a.auto_topup_claimed_at <= :claimableSince)
         AND (cast(:isSimulated AS boolean) OR a.stripe_customer_id IS NOT NULL) THEN 'due'
       ELSE 'none' END`;

/** Returns the parameters of {@link buildAutoTopupState}. */
export function getAutoTopupBindings(at: Date): Bindings {
  return {
    now: at,
    waitedSince: addMilliseconds(at, -2 * AUTO_TOPUP_WAIT_TIMEOUT_MS),
    claimableSince: addMilliseconds(at, -AUTO_TOPUP_INTERVAL_MS),
    isSimulated: processor.isSimulated,
  };
}

const READ_STATE = prepared(
  'read_auto_topup_state',
  `SELECT ${buildAutoTopupState('cast(:credits AS integer)')} AS state, a.balance
     FROM accounts a ${JOIN_PENDING_TOPUP}
    WHERE a.id = :account`,
);

/**
 * Reads what an account can expect.
 * @param credits that a create needs; null for the threshold.
 */
export async function readAutoTopupState(
  account: number,
  credits: number | null,
  at: Date,
  transaction?: Transaction,
): Promise<{ state: AutoTopupState; balance: number }> {
  const bindings = { account, credits, ...getAutoTopupBindings(at) };
  const [row] = await runStatement<{ state: AutoTopupState; balance: number }>(READ_STATE, bindings, transaction);
  return row ?? { state: 'none', balance: 0 };
}

const IS_NEEDED = prepared(
  'is_auto_topup_needed',
  `SELECT FROM topups t JOIN accounts a ON a.id = t.account_id
    WHERE t.uuid = :topup AND t.status = 'pending' AND ${buildNeed('t.needed_credits')}`,
);

/** Returns whether a claimed top-up may still be charged, and is still needed. The account is locked. */
export async function isAutoTopupNeeded(topup: string, at: Date, transaction: Transaction): Promise<boolean> {
  return (await runStatement(IS_NEEDED, { topup, now: at }, transaction)).length > 0;
}

const FIND_DUE = prepared(
  'find_due_auto_topups',
  `SELECT a.id
     FROM accounts a ${JOIN_PENDING_TOPUP}
    WHERE a.auto_topup_enabled AND a.auto_topup_triggered_at IS NOT NULL
      AND ${buildAutoTopupState('cast(NULL AS integer)')} = 'due'
    ORDER BY a.auto_topup_triggered_at
    LIMIT :limit`,
);

/** Finds accounts with a recorded trigger whose top-up may be claimed, the oldest trigger first. */
export async function findDueAutoTopups(at: Date, limit: number): Promise<number[]> {
  const rows = await runStatement<{ id: number }>(FIND_DUE, { limit, ...getAutoTopupBindings(at) });
  return rows.map(({ id }) => id);
}
