import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { CatalogModel } from '../../lib/catalog/catalog.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { isOutcomeUnknown, isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { logger } from '../../lib/logger.ts';
import { creditsBurned } from '../../lib/metrics.ts';
import { BUSY, createSkippingBatcher } from '../../lib/skippingBatcher.ts';
import { enqueueAutoTopup } from '../../queues/enqueue.ts';
import type { GenerationParams } from '../../spec/catalog.ts';
import { PROBE_STALE_MS } from '../../spec/limits.ts';
import type { Generation } from '../../tables/Generation.ts';
import { findReleasedModel } from '../catalog/releases.ts';
import { isEmailEnabled } from '../outbox/recordEvent.ts';
import { CHARGE_GENERATIONS, CREATOR_ROLES } from './chargeFunctions.ts';
import type { ChargeOutcome, ChargeRequest } from './chargeRequest.ts';

/** Delay before the sweep enqueues another dispatch for a new generation. */
const DISPATCH_GRACE_MS = 5_000;

/** Charges and queues one generation, together with concurrent requests, or returns the reason for the rejection. */
export const chargeGeneration: (charge: ChargeRequest) => Promise<ChargeOutcome> = createSkippingBatcher({
  maxItems: 64,
  maxInFlight: 2,
  // Each call charges several creates: small ones take more processor time. With few creates, each is charged at once.
  intervalMs: 3,
  intervalMinItems: 4,
  waitTimeout: DB_WAIT_TIMEOUT,
  // Not in two calls at a time, of which one would find the account busy.
  getKey: (charge) => charge.account_id,
  keysShareBatch: true,
  isItemError: isRejection,
  run: chargeOnce,
});

type CallOutcome = ChargeOutcome | typeof BUSY;

async function chargeOnce(charges: ChargeRequest[], options: { waits: boolean }): Promise<CallOutcome[]> {
  const startedAt = performance.now();
  const outcomes = await callChargeFunction(charges, options).catch((error: unknown) =>
    resolveLostAnswer(charges, startedAt, error),
  );
  charges.forEach(({ model, credits, is_test: isTest }, index) => {
    if (outcomes[index] === 'accepted' && !isTest) creditsBurned.inc({ model }, credits);
  });
  return outcomes;
}

/**
 * Finds out what a call has done whose answer was lost. A second call waits for the locks of the first, recognizes what
 * that one has charged, and charges the rest: the uuid of each generation was chosen before, so that none is charged
 * twice.
 *
 * Only a charge is certain then. The first call may still arrive after the second one has rejected a request, so that
 * every other outcome is `unknown`. The same without a second answer within twice `DATABASE_TIMEOUT_MS`.
 * @throws error if the first call certainly had no effect.
 */
async function resolveLostAnswer(
  charges: ChargeRequest[],
  startedAt: number,
  error: unknown,
): Promise<ChargeOutcome[]> {
  if (!isOutcomeUnknown(error)) throw error;
  const second = callChargeFunction(charges, { waits: true }).catch(() => null);
  const remainingMs = startedAt + 2 * config.DATABASE_TIMEOUT_MS - performance.now();
  const outcomes = await Promise.race([second, delay(Math.max(0, remainingMs), null, { ref: false })]);
  if (outcomes === null) logger.error({ err: error, charges: charges.length }, 'charge outcome unknown');
  return charges.map((_, index) => {
    const outcome = outcomes?.[index];
    return outcome === 'accepted' || outcome === 'replayed' ? outcome : 'unknown';
  });
}

const CALL_CHARGE_FUNCTION = prepared(
  'charge_generations',
  `SELECT * FROM ${CHARGE_GENERATIONS.installedName}(:rounds, :accounts, :keyHashes, :grants, :uploads,
                                                      :now, :probedSince, ${CREATOR_ROLES}, :dueAt, :sendsEmail, :waits)`,
);

interface ChargeRow {
  uuid: string;
  outcome: ChargeOutcome;
  /** True if the burn leads to an automatic top-up. */
  is_low: boolean;
}

async function callChargeFunction(charges: ChargeRequest[], { waits }: { waits: boolean }): Promise<CallOutcome[]> {
  const at = now();
  const rows = await runStatement<ChargeRow>(CALL_CHARGE_FUNCTION, {
    rounds: splitIntoRounds(charges).map((round) => JSON.stringify(round)),
    accounts: charges.map((charge) => charge.account_id),
    keyHashes: charges.flatMap((charge) => (charge.key_hash === undefined ? [] : Buffer.from(charge.key_hash, 'hex'))),
    grants: charges.flatMap((charge) => charge.grant_uuid ?? []),
    uploads: charges.flatMap(({ inputs = [] }) => inputs.map((input) => input.upload_uuid)),
    now: at,
    probedSince: addMilliseconds(at, -PROBE_STALE_MS),
    dueAt: addMilliseconds(at, DISPATCH_GRACE_MS),
    sendsEmail: isEmailEnabled(),
    waits,
  });
  const decided = new Map(rows.map((row) => [row.uuid, row]));
  return charges.map(({ uuid, account_id: accountId }) => {
    const row = decided.get(uuid);
    if (row?.is_low === true) void enqueueAutoTopup(accountId);
    // An account that does not exist has no credentials.
    if (row === undefined) return waits ? 'invalid_api_key' : BUSY;
    return row.outcome;
  });
}

/** Splits requests into rounds with at most one of an account, in their order. */
function splitIntoRounds(charges: readonly ChargeRequest[]): ChargeRequest[][] {
  const rounds: ChargeRequest[][] = [];
  const counts = new Map<number, number>();
  for (const charge of charges) {
    const round = counts.get(charge.account_id) ?? 0;
    counts.set(charge.account_id, round + 1);
    (rounds[round] ??= []).push(charge);
  }
  return rounds;
}

/**
 * Returns whether a request with the idempotency key of an earlier generation is the same request. A parameter that the
 * client leaves out has the default of the catalog at that time, so a default that a deployment has changed since does
 * not make a repeated request another one.
 */
export async function isSameRequest(first: Generation, charge: ChargeRequest): Promise<boolean> {
  return (
    first.model === charge.model &&
    first.prompt === charge.prompt &&
    first.webhook_url === (charge.webhook_url ?? null) &&
    isDeepStrictEqual(first.metadata, charge.metadata ?? null) &&
    (isDeepStrictEqual(first.params, charge.params) || (await differsInDefaultsOnly(first, charge)))
  );
}

/** Returns whether each parameter that differs has, in both requests, the default of its catalog. */
async function differsInDefaultsOnly(first: Generation, charge: ChargeRequest): Promise<boolean> {
  if (first.catalog_id === charge.catalog_id) return false;
  const [before, now] = await Promise.all([
    findReleasedModel(first.catalog_id, first.model),
    findReleasedModel(charge.catalog_id, charge.model),
  ]);
  if (before === undefined || now === undefined) return false;
  const names = new Set([...Object.keys(first.params), ...Object.keys(charge.params)]);
  return [...names].every(
    (name) =>
      isDeepStrictEqual(first.params[name], charge.params[name]) ||
      (isDefault(before, first.params, name) && isDefault(now, charge.params, name)),
  );
}

/** A parameter without a default may be absent. */
function isDefault({ definition }: CatalogModel, params: GenerationParams, name: string): boolean {
  return params[name] === definition.params[name]?.default;
}
