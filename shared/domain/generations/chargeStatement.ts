import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import { enqueueAutoTopup } from '../../queues/enqueue.ts';
import { PROBE_STALE_MS } from '../../spec/limits.ts';
import { buildLowCreditsThreshold } from '../credits/lowCredits.ts';
import { isEmailEnabled } from '../outbox/recordEvent.ts';
import { buildGrantDecision } from '../oauth/lockGrants.ts';
import { COUNT_SPENDING, DECIDE_LIMITS, mayHaveLimits, rememberLimits } from '../spendingLimits/chargeLimits.ts';
import { buildAdmissionRule, USABLE_MODELS } from './admission.ts';
import type { ChargeOutcome, Debit } from './debit.ts';

/** Delay before the sweep enqueues another dispatch for a new generation. */
const DISPATCH_GRACE_MS = 5_000;

/** A test account pays nothing: its generations have no ledger entries, and its balance is always 0. */
const IS_TEST = 'a.live_account_id IS NOT NULL';
const PRICE = `CASE WHEN ${IS_TEST} THEN 0 ELSE r.credits END`;

const LOW_THRESHOLD = buildLowCreditsThreshold('a.credits_low_threshold', 'a.period_granted');

/** Finds earlier generations with the same key. One that is committed while the statement runs violates the unique key. */
const JOIN_FIRST_WITH_KEY = `
       LEFT JOIN generations first
         ON first.account_id = ANY (cast(:accounts AS bigint[])) AND first.idempotency_key = ANY (cast(:keys AS text[]))
        AND first.account_id = r.account_id AND first.idempotency_key = r.idempotency_key`;

/**
 * Locks the images of the requests, before the accounts, so that none is deleted until the generation refers to it. One
 * that is being deleted is missing.
 */
const LOCK_INPUTS = `
   ), input AS MATERIALIZED (
     SELECT r.uuid, i.role, i.position, i.upload_uuid
       FROM request r, json_to_recordset(r.inputs) AS i (role text, position smallint, upload_uuid uuid)
   ), kept AS MATERIALIZED (
     SELECT u.uuid FROM uploads u
      WHERE u.uuid IN (SELECT upload_uuid FROM input) AND u.status = 'ready'
      ORDER BY u.uuid FOR KEY SHARE
   ), missing AS MATERIALIZED (
     SELECT DISTINCT uuid FROM input WHERE upload_uuid NOT IN (SELECT uuid FROM kept)`;
const JOIN_MISSING = ' LEFT JOIN missing ON missing.uuid = r.uuid';
const INSERT_INPUTS = `
   ), inputs AS (
     INSERT INTO generation_inputs (generation_uuid, account_id, role, position, upload_uuid)
     SELECT charged.uuid, charged.id, input.role, input.position, input.upload_uuid
       FROM charged JOIN input ON input.uuid = charged.uuid`;

/** For EXISTS, the planner might read all sessions at once. */
const IS_SESSION_OPEN = `(SELECT true FROM sessions s WHERE s.token_hash = decode(r.session_hash, 'hex')) IS NOT NULL`;

/** Parts of the statement that only some requests need. */
interface ChargeParts {
  hasKeys: boolean;
  hasInputs: boolean;
  hasGrants: boolean;
  /** Without them, requests of an account with spending limits get `limits_apply`. */
  hasLimits: boolean;
}

/**
 * Admission and charge for a batch of requests: locks the accounts in the order of their ids, decides each request
 * against the locked row, and writes account, generation, ledger entry and usage. A burn that leaves the balance below
 * the threshold records the trigger of an automatic top-up in the same statement; nothing else records one. So does the
 * event `credits.low`, once until credits are added, if a webhook or an e-mail follows from it.
 *
 * New values are computed from the locked row (`locked.balance - locked.credits`) and not from `a.balance`: Postgres
 * checks constraints on the row version that the statement saw first, and would reject after a concurrent charge. The
 * array parameters repeat values of the rows: without them the planner estimates 100 rows and scans small tables.
 *
 * API keys and sessions are those of the statement's snapshot, from before it waited for the accounts. What changes or ends
 * them locks the account and counts: `stale` if the locked row has counted more than the one in the snapshot. A browser that
 * signs itself out does neither.
 */
function prepareChargeStatement(name: string, { hasKeys, hasInputs, hasGrants, hasLimits }: ChargeParts): Statement {
  // The grants are decided about after the accounts are locked, and the limits after the grants.
  const [decided, decision] = hasLimits ? ['account', 'decision'] : ['locked', 'outcome'];
  const [first, firstDecision] = hasGrants ? ['applicant', 'admission'] : [decided, decision];
  return prepared(
    name,
    `WITH request AS MATERIALIZED (
     SELECT r.*, k.number AS api_key_number,
            CASE WHEN r.key_hash IS NOT NULL THEN k.key_hash IS NOT NULL
                 WHEN r.session_hash IS NOT NULL THEN ${IS_SESSION_OPEN} ELSE true END AS is_credential_valid,
            CASE WHEN k.key_hash IS NOT NULL OR r.session_hash IS NOT NULL
                 THEN seen.key_change_count END AS key_change_count
       FROM json_to_recordset(:charges) AS r (uuid uuid, account_id bigint, key_hash text, model text, prompt text,
              params jsonb, credits integer, created_at timestamptz, deadline_at timestamptz, idempotency_key text,
              webhook_url text, metadata jsonb, catalog_id bigint, oauth_client_id text, key_version integer,
              session_hash text${hasInputs ? ', inputs json' : ''}${hasGrants ? ', grant_uuid uuid' : ''})
       LEFT JOIN api_keys k
         ON k.key_hash = ANY (cast(:hashes AS bytea[])) AND k.key_hash = decode(r.key_hash, 'hex')
        AND coalesce(k.test_account_id, k.account_id) = r.account_id AND k.revoked_at IS NULL
        AND k.version = r.key_version AND (k.expires_at IS NULL OR k.expires_at > :now)
       LEFT JOIN accounts seen ON seen.id = ANY (cast(:accounts AS bigint[])) AND seen.id = r.account_id
   ), usable AS MATERIALIZED (
     ${USABLE_MODELS}${hasInputs ? LOCK_INPUTS : ''}
   ), ${first} AS MATERIALIZED (
     SELECT a.id, r.uuid, r.model, r.prompt, r.params, ${PRICE} AS credits, r.created_at, r.deadline_at, r.idempotency_key,
            r.webhook_url, r.metadata, r.catalog_id, a.balance, a.plan_credits, a.topup_credits, a.period_used, a.in_flight,
            a.generation_count,
            a.ledger_count, ${IS_TEST} AS is_test,
            least(a.plan_credits, r.credits) AS from_plan, r.api_key_number, r.oauth_client_id, a.auto_topup_triggered_at,
            a.auto_topup_enabled AND a.balance - r.credits < a.auto_topup_threshold_credits AS leaves_low,
            a.credits_low_since, ${LOW_THRESHOLD} AS low_threshold,
            NOT ${IS_TEST} AND a.credits_low_since IS NULL AND a.balance - r.credits < ${LOW_THRESHOLD}
              AND (cast(:sendsEmail AS boolean) OR a.webhook_count > 0) AS is_credits_low,
            ${hasGrants ? 'r.grant_uuid,' : ''}${hasLimits ? 'a.spending_limit_count, r.key_hash IS NOT NULL OR r.oauth_client_id IS NOT NULL AS has_credential,' : ''}
            CASE WHEN a.key_change_count <> r.key_change_count THEN 'stale'
                 ELSE ${buildAdmissionRule({ hasKeys, hasInputs, limits: hasLimits ? 'checked later' : 'detected' })}
                 END AS ${firstDecision}
       FROM request r
       JOIN accounts a ON a.id = ANY (cast(:accounts AS bigint[])) AND a.id = r.account_id
       LEFT JOIN usable ON usable.model = r.model
       ${hasKeys ? JOIN_FIRST_WITH_KEY : ''}${hasInputs ? JOIN_MISSING : ''}
      ORDER BY a.id
        FOR NO KEY UPDATE OF a${hasGrants ? buildGrantDecision(decided, decision) : ''}${hasLimits ? DECIDE_LIMITS : ''}
   ), charged AS (
     UPDATE accounts a
        SET balance = locked.balance - locked.credits,
            plan_credits = locked.plan_credits - locked.from_plan,
            topup_credits = locked.topup_credits - (locked.credits - locked.from_plan),
            period_used = locked.period_used + locked.credits,
            in_flight = locked.in_flight + 1,
            generation_count = locked.generation_count + 1,
            ledger_count = locked.ledger_count + cast(NOT locked.is_test AS int),
            auto_topup_triggered_at =
              CASE WHEN locked.leaves_low THEN coalesce(locked.auto_topup_triggered_at, locked.created_at) END,
            credits_low_since = CASE WHEN locked.is_credits_low THEN locked.created_at ELSE locked.credits_low_since END
       FROM locked
      WHERE a.id = locked.id AND locked.outcome = 'accepted'
     RETURNING a.id, a.balance, a.generation_count, a.ledger_count, locked.uuid, locked.model, locked.prompt,
               locked.params, locked.credits, locked.from_plan, locked.created_at, locked.deadline_at,
               locked.idempotency_key, locked.api_key_number, locked.webhook_url, locked.metadata,
               locked.catalog_id, locked.is_test, locked.oauth_client_id
   ), generation AS (
     INSERT INTO generations (uuid, account_id, number, model, prompt, params, credits_charged, plan_credits_charged,
                              created_at, deadline_at, next_attempt_at, idempotency_key, api_key_number, webhook_url, metadata,
                              catalog_id, is_test, oauth_client_id)
     SELECT uuid, id, generation_count, model, prompt, params, credits, from_plan, created_at, deadline_at,
            cast(:due AS timestamptz), idempotency_key, api_key_number, webhook_url, metadata, catalog_id, is_test,
            oauth_client_id
       FROM charged
   ), burn AS (
     INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                 generation_uuid, created_at)
     SELECT id, ledger_count, 'burn', -credits, -from_plan, balance, 'Generation: ' || model, uuid, created_at
       FROM charged WHERE NOT is_test
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
   ), event AS (
     INSERT INTO outbox_events (account_id, type, subject, details, created_at, next_attempt_at)
     SELECT id, 'credits.low', cast(uuid AS text),
            jsonb_build_object('balance', balance - credits, 'threshold', low_threshold), created_at, created_at
       FROM locked WHERE outcome = 'accepted' AND is_credits_low
     ON CONFLICT (account_id, type, subject) DO NOTHING${hasInputs ? INSERT_INPUTS : ''}${hasLimits ? COUNT_SPENDING : ''}
   )
   SELECT uuid, outcome, outcome = 'accepted' AND leaves_low AS is_low FROM locked`,
  );
}

type BatchParts = Omit<ChargeParts, 'hasGrants'>;

/** A batch runs no part that none of its requests needs: also a part without work takes time to start. */
const VARIANTS: readonly [name: string, parts: BatchParts][] = [
  ['charge_generations', { hasKeys: false, hasInputs: false, hasLimits: false }],
  ['charge_generations_with_keys', { hasKeys: true, hasInputs: false, hasLimits: false }],
  ['charge_generations_with_inputs', { hasKeys: true, hasInputs: true, hasLimits: false }],
  ['charge_generations_with_limits', { hasKeys: false, hasInputs: false, hasLimits: true }],
  ['charge_generations_with_keys_and_limits', { hasKeys: true, hasInputs: false, hasLimits: true }],
  ['charge_generations_with_inputs_and_limits', { hasKeys: true, hasInputs: true, hasLimits: true }],
];

const buildStatements = (suffix: string, hasGrants: boolean) =>
  VARIANTS.map(([name, parts]) => ({
    parts,
    statement: prepareChargeStatement(name + suffix, { ...parts, hasGrants }),
  }));
const STATEMENTS = buildStatements('', false);
/** For batches with a request of an application. */
const STATEMENTS_BY_GRANTS = buildStatements('_by_grants', true);

function findStatement({ hasKeys, hasInputs, hasGrants, hasLimits }: ChargeParts): Statement {
  const found = (hasGrants ? STATEMENTS_BY_GRANTS : STATEMENTS).find(
    ({ parts }) => parts.hasKeys === hasKeys && parts.hasInputs === hasInputs && parts.hasLimits === hasLimits,
  );
  return (found as NonNullable<typeof found>).statement;
}

/** Outcome of one run of a charge statement. The first two decide nothing, and the request is charged again. */
export type StatementOutcome =
  /** The account has spending limits, which this statement does not check. */
  | 'limits_apply'
  /** A spending limit of the account was added, or an API key changed or revoked, after the snapshot of the statement. */
  | 'stale'
  | ChargeOutcome;

/** Charges a batch in one statement, with the parts that its requests need. There is one request of an account. */
export async function runChargeStatement(charges: Debit[]): Promise<StatementOutcome[]> {
  const at = now();
  const keys = charges.map((charge) => charge.idempotency_key).filter((key) => key !== null);
  const hasLimits = charges.some((charge) => hasCredential(charge) && mayHaveLimits(charge.account_id));
  const hasInputs = charges.some((charge) => charge.inputs !== undefined);
  const hasKeys = keys.length > 0 || hasInputs;
  const hasGrants = charges.some((charge) => charge.grant_uuid !== undefined);
  const statement = findStatement({ hasKeys, hasInputs, hasGrants, hasLimits });
  const rows = await runStatement<{ uuid: string; outcome: StatementOutcome; is_low: boolean }>(statement, {
    charges: JSON.stringify(charges),
    accounts: charges.map((charge) => charge.account_id),
    hashes: charges.map((charge) => (charge.key_hash === null ? null : Buffer.from(charge.key_hash, 'hex'))),
    now: at,
    stale: addMilliseconds(at, -PROBE_STALE_MS),
    due: addMilliseconds(at, DISPATCH_GRACE_MS),
    sendsEmail: isEmailEnabled(),
    ...(hasKeys ? { keys } : {}),
    ...(hasGrants ? { grants: charges.map((charge) => charge.grant_uuid ?? null) } : {}),
  });
  const outcomes = new Map(rows.map((row) => [row.uuid, row.outcome]));
  const low = new Set(rows.filter((row) => row.is_low).map((row) => row.uuid));
  for (const { uuid, account_id: accountId } of charges) {
    if (low.has(uuid)) void enqueueAutoTopup(accountId);
    if (outcomes.get(uuid) === 'limits_apply') rememberLimits(accountId);
  }
  return charges.map((charge) => outcomes.get(charge.uuid) ?? 'invalid_api_key');
}

function hasCredential({ key_hash: keyHash, oauth_client_id: clientId }: Debit): boolean {
  return keyHash !== null || clientId !== null;
}
