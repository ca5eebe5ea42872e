import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';

/** A refund of a generation that had succeeded, and the balance after it. */
export interface GenerationRefund {
  credits: number;
  planCredits: number;
  balance: number;
}

/**
 * Refunds a succeeded generation once, into the buckets that paid, and takes it out of the usage of its period, day and
 * model, as `execution/failGenerations.sql` does. The account must be locked.
 */
const REFUND = prepared(
  'refund_succeeded_generation',
  `WITH refunded AS (
     UPDATE generations SET refunded_at = :now
      WHERE uuid = :uuid AND account_id = :accountId AND status = 'succeeded' AND refunded_at IS NULL AND NOT is_test
     RETURNING uuid, account_id, number, model, created_at, credits_charged, plan_credits_charged
   ), owner AS (
     UPDATE accounts a
        SET balance = a.balance + r.credits_charged,
            plan_credits = a.plan_credits + r.plan_credits_charged,
            topup_credits = a.topup_credits + r.credits_charged - r.plan_credits_charged,
            period_used = a.period_used
                          - CASE WHEN r.number > a.generation_count_at_period_start THEN r.credits_charged ELSE 0 END,
            ledger_count = a.ledger_count + 1
       FROM refunded r
      WHERE a.id = r.account_id
     RETURNING a.id, a.balance, a.ledger_count
   ), entry AS (
     INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                 generation_uuid, created_at)
     SELECT r.account_id, owner.ledger_count, 'refund', r.credits_charged, r.plan_credits_charged, owner.balance,
            'Refund: ' || r.model || ' generation', r.uuid, cast(:now AS timestamptz)
       FROM refunded r JOIN owner ON owner.id = r.account_id
   ), usage AS (
     UPDATE usage_days u SET credits = u.credits - r.credits_charged
       FROM refunded r
      WHERE u.account_id = r.account_id AND u.day = cast(r.created_at AT TIME ZONE 'UTC' AS date) AND u.model = r.model
   ), total AS (
     UPDATE usage_totals u SET credits = u.credits - r.credits_charged
       FROM refunded r
      WHERE u.account_id = r.account_id AND u.model = r.model
   )
   SELECT r.credits_charged AS credits, r.plan_credits_charged AS "planCredits", owner.balance
     FROM refunded r JOIN owner ON owner.id = r.account_id`,
);

/**
 * Refunds a succeeded generation of a locked account.
 * @returns undefined if it has not succeeded, or was refunded before: nothing was changed.
 */
export async function refundSucceededGeneration(
  transaction: Transaction,
  accountId: number,
  uuid: string,
): Promise<GenerationRefund | undefined> {
  const rows = await runStatement<GenerationRefund>(REFUND, { accountId, uuid, now: now() }, transaction);
  return rows[0];
}
