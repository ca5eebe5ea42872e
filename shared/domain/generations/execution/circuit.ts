import type { UpstreamRoute } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import { findRoutePosition, forgetModelChoices } from './modelHealth.ts';

/** Time for which the circuit of an upstream stays open after account errors. */
const CIRCUIT_OPEN_MS = 30_000;

/**
 * Builds the update that records an accepted submit for upstreams with an account error since the last one: not more,
 * so that submits do not wait for each other. A row that is locked belongs to another of these updates.
 * @param upstreams query of `name:model id`.
 */
export const buildAcceptance = (upstreams: string): string => `
     UPDATE upstream_health SET accepted_at = :now
      WHERE (model, position) IN (
              SELECT model, position FROM upstream_health
               WHERE upstream IN (${upstreams}) AND account_error_at > coalesce(accepted_at, '-infinity')
                 FOR NO KEY UPDATE SKIP LOCKED)`;

const RECORD_ACCEPTANCE = prepared('record_acceptance', buildAcceptance('SELECT :upstream'));

/** Records that an upstream made an output during the submit. For others, the statement that stores the handle does. */
export async function recordAcceptance({ upstream, modelId }: UpstreamRoute): Promise<void> {
  await runStatement(RECORD_ACCEPTANCE, { upstream: `${upstream.name}:${modelId}`, now: now() });
}

/** Minimum time between two account errors of one customer that are evidence: its prompts may cause several at once. */
const ONE_CUSTOMER_EVIDENCE_MS = 30_000;

/**
 * Keeps the first account error since the last accepted submit. Only the first one of a generation is evidence: its
 * retries say nothing about others.
 */
const RECORD_ACCOUNT_ERROR = prepared(
  'record_account_error',
  `WITH before AS MATERIALIZED (
     SELECT model, position, account_error_at, account_error_account_id, accepted_at FROM upstream_health
      WHERE model = :model AND position = :position FOR NO KEY UPDATE
   ), recorded AS (
     UPDATE upstream_health h SET account_error_at = :now, account_error_account_id = :account
       FROM before
      WHERE h.model = before.model AND h.position = before.position AND cast(:first AS timestamptz) IS NULL
        AND coalesce(before.account_error_at, '-infinity') <= coalesce(before.accepted_at, '-infinity')
   )
   SELECT accepted_at >= :first AS accepts_others,
          cast(:first AS timestamptz) IS NULL AND account_error_at > coalesce(accepted_at, '-infinity')
            AND (account_error_account_id <> :account OR account_error_at <= :apartSince) AS is_confirmed
     FROM before`,
);

/**
 * Records that a submit failed with an error of our account, and returns what that shows. `account`: generations of two
 * customers had one, or two of one customer half a minute apart, and no submit was accepted between them. `generation`:
 * the upstream accepted another submit since the first account error of this one. Undefined: neither yet.
 */
export async function recordAccountError(
  route: UpstreamRoute,
  { account_id: account, account_error_at: first }: { account_id: number; account_error_at: Date | null },
  at: Date,
): Promise<'account' | 'generation' | undefined> {
  const { model } = route;
  const apartSince = addMilliseconds(at, -ONE_CUSTOMER_EVIDENCE_MS);
  const bindings = { model, position: findRoutePosition(route), now: at, first, account, apartSince };
  type Evidence = { accepts_others: boolean | null; is_confirmed: boolean | null };
  const [evidence] = await runStatement<Evidence>(RECORD_ACCOUNT_ERROR, bindings);
  if (evidence?.accepts_others === true) return 'generation';
  return evidence?.is_confirmed === true ? 'account' : undefined;
}

/** Counts an opening for the reports, unless the circuit is open already. */
const OPEN_CIRCUIT = prepared(
  'open_upstream_circuit',
  `WITH before AS MATERIALIZED (
     SELECT model, position, circuit_open_until FROM upstream_health
      WHERE model = :model AND position = :position FOR NO KEY UPDATE
   ), opened AS (
     UPDATE upstream_health h SET circuit_open_until = :until, detail = :problem
       FROM before WHERE h.model = before.model AND h.position = before.position
     RETURNING h.model, h.upstream, before.circuit_open_until AS open_before
   )
   INSERT INTO upstream_hours AS u (hour, model, upstream, circuit_openings)
   SELECT date_trunc('hour', cast(:now AS timestamptz), 'UTC'), model, upstream, 1 FROM opened
    WHERE open_before IS NULL OR open_before <= :now
   ON CONFLICT (hour, model, upstream) DO UPDATE SET circuit_openings = u.circuit_openings + 1`,
);

/**
 * Opens the circuit of an upstream for half a minute once it is clear that it rejects our account (no balance, or no
 * rights). Its probes still succeed, and customers would be charged for generations that it does not accept.
 */
export async function openCircuit(route: UpstreamRoute, problem: string): Promise<void> {
  const { model, upstream, modelId } = route;
  const at = now();
  await runStatement(OPEN_CIRCUIT, {
    model,
    position: findRoutePosition(route),
    now: at,
    until: addMilliseconds(at, CIRCUIT_OPEN_MS),
    problem,
  });
  forgetModelChoices();
  logger.error(
    { model, upstream: `${upstream.name}:${modelId}`, problem },
    'upstream rejected our account; circuit opened',
  );
}
