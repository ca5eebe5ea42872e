import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import { PROBE_STALE_MS } from '../../spec/limits.ts';
import { buildLowCreditsThreshold } from '../credits/lowCredits.ts';
import { isEmailEnabled } from '../outbox/recordEvent.ts';
import type { ChargeOutcome, Debit } from './debit.ts';

/** Delay before the sweep enqueues another dispatch for a new generation. */
const DISPATCH_GRACE_MS = 5_000;

const LOW_THRESHOLD = buildLowCreditsThreshold('a.credits_low_threshold', 'a.period_granted');

const IS_LOW = `(a.credits_low_since IS NULL AND a.balance - r.credits < ${LOW_THRESHOLD}
                   AND (cast(:sendsEmail AS boolean) OR a.webhook_count > 0))`;
const SET_LOW_SINCE = `, credits_low_since =
              CASE WHEN locked.is_credits_low THEN locked.created_at ELSE locked.credits_low_since END`;
const INSERT_LOW_EVENT = `, event AS (
     INSERT INTO outbox_events (account_id, type, subject, details, created_at, next_attempt_at)
     SELECT id, 'credits.low', cast(uuid AS text),
            jsonb_build_object('balance', balance - credits, 'threshold', low_threshold), created_at, created_at
       FROM locked WHERE outcome = 'accepted' AND is_credits_low
     ON CONFLICT (account_id, type, subject) DO NOTHING
   )`;

/** Finds earlier generations with the same key. One that is committed while the statement runs violates the unique key. */
const JOIN_FIRST_WITH_KEY = `
       LEFT JOIN generations first
         ON first.account_id = ANY (cast(:accounts AS bigint[])) AND first.idempotency_key = ANY (cast(:keys AS text[]))
        AND first.account_id = r.account_id AND first.idempotency_key = r.idempotency_key`;

/**
 * Admission and charge for a batch of requests: locks the accounts in the order of their ids, decides each request
 * against the locked row, and writes account, generation, ledger entry and usage. A burn that leaves the balance below
 * the threshold records the trigger of an automatic top-up in the same statement; nothing else records one.
 *
 * The event `credits.low` is recorded once until credits are added, if a webhook or an e-mail follows from it, by a variant
 * of its own: an insert costs time also if no row follows. The others leave such requests to it, as `credits_low`.
 *
 * New values are computed from the locked row (`locked.balance - locked.credits`) and not from `a.balance`: Postgres
 * checks constraints on the row version that the statement saw first, and would reject after a concurrent charge. The
 * array parameters repeat values of the rows: without them the planner estimates 100 rows and scans small tables.
 */
const prepareChargeStatement = (name: string, { hasKeys = false, recordsLow = false }) =>
  prepared(
    name,
    `WITH request AS MATERIALIZED (
     SELECT r.*, k.number AS api_key_number, r.key_hash IS NULL OR k.key_hash IS NOT NULL AS is_key_valid
       FROM json_to_recordset(:charges) AS r (uuid uuid, account_id bigint, key_hash text, model text, prompt text,
              params jsonb, credits integer, created_at timestamptz, deadline_at timestamptz, idempotency_key text,
              webhook_url text)
       LEFT JOIN api_keys k
         ON k.key_hash = ANY (cast(:hashes AS bytea[])) AND k.key_hash = decode(r.key_hash, 'hex')
        AND k.account_id = r.account_id AND k.revoked_at IS NULL
   ), usable AS MATERIALIZED (
     SELECT DISTINCT model FROM upstream_health WHERE status <> 'offline' AND probed_at > :stale
                                                         AND (circuit_open_until IS NULL OR circuit_open_until <= :now)
   ), locked AS MATERIALIZED (
     SELECT a.id, r.uuid, r.model, r.prompt, r.params, r.credits, r.created_at, r.deadline_at, r.idempotency_key,
            r.webhook_url, a.balance, a.plan_credits, a.topup_credits, a.period_used, a.in_flight, a.generation_count,
            a.ledger_count,
            least(a.plan_credits, r.credits) AS from_plan, r.api_key_number, a.auto_topup_triggered_at,
            a.auto_topup_enabled AND a.balance - r.credits < a.auto_topup_threshold_credits AS leaves_low,
            ${recordsLow ? `${LOW_THRESHOLD} AS low_threshold, ${IS_LOW} AS is_credits_low, a.credits_low_since,` : ''}
            CASE WHEN NOT r.is_key_valid THEN 'invalid_api_key'
                 WHEN a.suspended_at IS NOT NULL THEN 'account_suspended'
                 ${hasKeys ? "WHEN first.uuid IS NOT NULL THEN 'replayed'" : ''}
                 WHEN a.spendable_until IS NULL OR a.spendable_until <= :now OR a.deletion_requested_at IS NOT NULL
                   THEN 'subscription_required'
                 WHEN usable.model IS NULL THEN 'model_unavailable'
                 WHEN a.in_flight >= a.parallel_limit THEN 'parallel_limit_reached'
                 WHEN a.balance < r.credits THEN 'insufficient_credits'
                 ${recordsLow ? '' : `WHEN ${IS_LOW} THEN 'credits_low'`}
                 ELSE 'accepted' END AS outcome
       FROM request r
       JOIN accounts a ON a.id = ANY (cast(:accounts AS bigint[])) AND a.id = r.account_id
       LEFT JOIN usable ON usable.model = r.model
       ${hasKeys ? JOIN_FIRST_WITH_KEY : ''}
      ORDER BY a.id
        FOR NO KEY UPDATE OF a
   ), charged AS (
     UPDATE accounts a
        SET balance = locked.balance - locked.credits,
            plan_credits = locked.plan_credits - locked.from_plan,
            topup_credits = locked.topup_credits - (locked.credits - locked.from_plan),
            period_used = locked.period_used + locked.credits,
            in_flight = locked.in_flight + 1,
            generation_count = locked.generation_count + 1,
            ledger_count = locked.ledger_count + 1,
            auto_topup_triggered_at =
              CASE WHEN locked.leaves_low THEN coalesce(locked.auto_topup_triggered_at, locked.created_at) END
            ${recordsLow ? SET_LOW_SINCE : ''}
       FROM locked
      WHERE a.id = locked.id AND locked.outcome = 'accepted'
     RETURNING a.id, a.balance, a.generation_count, a.ledger_count, locked.uuid, locked.model, locked.prompt,
               locked.params, locked.credits, locked.from_plan, locked.created_at, locked.deadline_at,
               locked.idempotency_key, locked.api_key_number, locked.webhook_url
   ), generation AS (
     INSERT INTO generations (uuid, account_id, number, model, prompt, params, credits_charged, plan_credits_charged,
                              created_at, deadline_at, next_attempt_at, idempotency_key, api_key_number, webhook_url)
     SELECT uuid, id, generation_count, model, prompt, params, credits, from_plan, created_at, deadline_at,
            cast(:due AS timestamptz), idempotency_key, api_key_number, webhook_url
       FROM charged
   ), burn AS (
     INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                 generation_uuid, created_at)
     SELECT id, ledger_count, 'burn', -credits, -from_plan, balance, 'Generation: ' || model, uuid, created_at
       FROM charged
   ), usage AS (
     INSERT INTO usage_days AS u (account_id, day, model, credits, generations)
     SELECT id, cast(created_at AT TIME ZONE 'UTC' AS date), model, credits, 1 FROM charged
     ON CONFLICT (account_id, day, model)
     DO UPDATE SET credits = u.credits + excluded.credits, generations = u.generations + 1
   ), total AS (
     INSERT INTO usage_totals AS u (account_id, model, credits, generations)
     SELECT id, model, credits, 1 FROM charged
     ON CONFLICT (account_id, model)
     DO UPDATE SET credits = u.credits + excluded.credits, generations = u.generations + 1
   ), key_usage AS (
     INSERT INTO usage_keys AS u (account_id, key_number, credits, generations)
     SELECT id, api_key_number, credits, 1 FROM charged WHERE api_key_number IS NOT NULL
     ON CONFLICT (account_id, key_number)
     DO UPDATE SET credits = u.credits + excluded.credits, generations = u.generations + 1
   )${recordsLow ? INSERT_LOW_EVENT : ''}
   SELECT uuid, outcome, outcome = 'accepted' AND leaves_low AS is_low FROM locked`,
  );

const CHARGE_STATEMENT = prepareChargeStatement('charge_generations', {});
const CHARGE_STATEMENT_WITH_KEYS = prepareChargeStatement('charge_generations_with_keys', { hasKeys: true });
const CHARGE_STATEMENT_LOW = prepareChargeStatement('charge_generations_low', { hasKeys: true, recordsLow: true });

export interface ChargeRow<Outcome = ChargeOutcome> {
  uuid: string;
  outcome: Outcome;
  /** True if an automatic top-up follows. */
  is_low: boolean;
}

/** Runs the charge of a batch; the requests that make the balance low follow in a second statement. */
export async function runCharges(charges: Debit[]): Promise<ChargeRow[]> {
  const hasKeys = charges.some((charge) => charge.idempotency_key !== null);
  const rows = await runCharge<ChargeOutcome | 'credits_low'>(
    hasKeys ? CHARGE_STATEMENT_WITH_KEYS : CHARGE_STATEMENT,
    charges,
  );
  const lowered = new Set(rows.filter((row) => row.outcome === 'credits_low').map((row) => row.uuid));
  if (lowered.size === 0) return rows as ChargeRow[];
  const rest = charges.filter(({ uuid }) => lowered.has(uuid));
  return [
    ...(rows as ChargeRow[]).filter(({ uuid }) => !lowered.has(uuid)),
    ...(await runCharge<ChargeOutcome>(CHARGE_STATEMENT_LOW, rest)),
  ];
}

function runCharge<Outcome>(statement: Statement, charges: Debit[]): Promise<ChargeRow<Outcome>[]> {
  const at = now();
  return runStatement<ChargeRow<Outcome>>(statement, {
    charges: JSON.stringify(charges),
    accounts: charges.map((charge) => charge.account_id),
    hashes: charges.map((charge) => (charge.key_hash === null ? null : Buffer.from(charge.key_hash, 'hex'))),
    keys: charges.map((charge) => charge.idempotency_key).filter((key) => key !== null),
    now: at,
    stale: addMilliseconds(at, -PROBE_STALE_MS),
    due: addMilliseconds(at, DISPATCH_GRACE_MS),
    sendsEmail: isEmailEnabled(),
  });
}
