import { setTimeout as delay } from 'node:timers/promises';
import type { Violation } from '../../shared/domain/integrity/index.ts';
import { waitUntil } from '../local/servers/processes.ts';
import type { ChaosClients } from './clients/clients.ts';
import { findLongestRetryMs, findOverdueRefunds, findPendingWork } from './drained.ts';
import { connectTo } from '../local/environment/databases.ts';
import type { ChaosEnvironment } from './environment.ts';
import { violate } from './rules.ts';
import type { SpeedWatch } from './machineWatch.ts';

const FIRST_SUCCESS_LIMIT_MS = 10_000;
/** Waits at most this long for a successful create. */
const FIRST_SUCCESS_TIMEOUT_MS = 30_000;
/** Between two looks for pending work, which read whole tables. */
const POLL_INTERVAL_MS = 250;
const DRAINED_LIMIT_MS = 120_000;
const DRAIN_TIMEOUT_MS = 180_000;
/** The wait is extended by at most this factor on a slow machine. */
const DRAIN_PATIENCE_MAX = 2;
/** Advances past everything with a period of ten minutes or less, such as payouts. */
const ELEVEN_MINUTES_MS = 11 * 60_000;
/** An owed refund may still be due this long after healing: its sweep runs every 30 s. */
const OWED_REFUND_LIMIT_MS = 60_000;
/** Shorter waits for the next attempt of a task are not skipped. */
const SKIPPED_FROM_MS = 1_000;
const OVER_AN_HOUR_MS = 65 * 60_000;

/** Times of the first successes after healing. */
export interface HealResult {
  at: number;
  firstSuccessMs: number | null;
  firstCreateMs: number | null;
}

export const NOT_HEALED: HealResult = { at: 0, firstSuccessMs: null, firstCreateMs: null };

/** Removes all faults; clients continue until a create has succeeded, for half a minute at most. */
export async function heal(environment: ChaosEnvironment, clients: ChaosClients): Promise<HealResult> {
  const { stripe, receiver, mailReceiver } = environment;
  // No event is dropped, repeated or reordered any more; dropped ones stay lost.
  stripe.reset();
  // A saved error expires only after a day, which is too long to wait here.
  stripe.deleteSavedErrors();
  await receiver.setCalm();
  mailReceiver.setCalm();
  environment.advanceTime(ELEVEN_MINUTES_MS);
  clients.setCalm();
  const healed: HealResult = { at: Date.now(), firstSuccessMs: null, firstCreateMs: null };
  const ordered = new AbortController();
  clients.journal.onResponse = ({ at, kind, status, durationMs }) => {
    if (at < healed.at || typeof status !== 'number' || status >= 300) return;
    healed.firstSuccessMs ??= at + durationMs - healed.at;
    if (!kind.startsWith('create') || status !== 201) return;
    healed.firstCreateMs ??= at + durationMs - healed.at;
    ordered.abort();
  };
  await delay(FIRST_SUCCESS_TIMEOUT_MS, undefined, { signal: ordered.signal }).catch(() => {});
  clients.journal.onResponse = undefined;
  return healed;
}

/**
 * Waits for pending work, or until enough is known. Moves the clocks on while only tasks are left that will be tried
 * again.
 * @returns the time since healing in milliseconds, with what was skipped; null if it never settled.
 */
export async function waitUntilDrained(
  environment: ChaosEnvironment,
  healedAt: number,
  found: Violation[],
  speed: SpeedWatch,
  isEnough?: (violation: Violation) => boolean,
): Promise<number | null> {
  const client = await connectTo(environment.databaseUrl);
  try {
    /** The last pending work, also if it has been completed since. */
    let lastPending: string[] = [];
    let isRefundOverdue = false;
    let skippedMs = 0;
    const elapsedMs = () => Date.now() - healedAt + skippedMs;
    const checkRefunds = async () => {
      const paidMs = Math.min(1.5, speed.slownessBetween(healedAt, Date.now())) * OWED_REFUND_LIMIT_MS;
      if (isRefundOverdue || elapsedMs() < paidMs) return;
      const overdue = await findOverdueRefunds(client, new Date(environment.now().getTime() - paidMs));
      found.push(...overdue);
      isRefundOverdue = overdue.length > 0;
    };
    const isDrained = async () => {
      await checkRefunds();
      if (isEnough !== undefined && found.some(isEnough)) return true;
      const { descriptions, waitMs } = await findPendingWork(client, environment);
      if (descriptions.length > 0) lastPending = descriptions;
      if (waitMs > SKIPPED_FROM_MS) {
        environment.advanceTime(waitMs);
        skippedMs += waitMs;
      }
      return descriptions.length === 0;
    };
    const patience = Math.min(DRAIN_PATIENCE_MAX, speed.slownessBetween(healedAt, Date.now()));
    const timeoutMs = isEnough === undefined ? DRAIN_TIMEOUT_MS * patience : DRAINED_LIMIT_MS;
    const isSettled = await waitUntil(isDrained, timeoutMs, POLL_INTERVAL_MS);
    if (isEnough !== undefined && found.some(isEnough)) return null;
    const settledMs = isSettled ? elapsedMs() : null;
    found.push(...checkSettled({ at: healedAt, settledMs }, speed, lastPending));
    await environment.stripe.drained().catch((error: Error) => {
      found.push(violate('events-are-delivered', null, 'the run', error.message));
    });
    // Includes the hourly checks, and the next attempt of every webhook and message.
    environment.advanceTime(Math.max(OVER_AN_HOUR_MS, await findLongestRetryMs(client, environment.now())));
    await delay(3_000);
    await waitUntil(isDrained, 60_000, POLL_INTERVAL_MS);
    return settledMs;
  } finally {
    await client.end();
  }
}

/** Reports a first request that succeeded too late, by more than the machine was slowed down. */
export function checkFirstSuccess({ at, firstSuccessMs }: HealResult, speed: SpeedWatch): Violation[] {
  const slowness = speed.slownessBetween(at, at + (firstSuccessMs ?? FIRST_SUCCESS_TIMEOUT_MS));
  if (firstSuccessMs !== null && firstSuccessMs <= FIRST_SUCCESS_LIMIT_MS * slowness) return [];
  return [violate('first-success', null, 'the run', describeTime(firstSuccessMs, slowness))];
}

/** Reports work that settled too late, by more than the machine was slowed down, or never. */
export function checkSettled(
  { at, settledMs }: { at: number; settledMs: number | null },
  speed: SpeedWatch,
  pendingWork: string[],
): Violation[] {
  const slowness = speed.slownessBetween(at, at + (settledMs ?? DRAIN_TIMEOUT_MS));
  if (settledMs !== null && settledMs <= DRAINED_LIMIT_MS * slowness) return [];
  const detail = [describeTime(settledMs, slowness), ...pendingWork].join(', ');
  return [violate('all-settled', null, 'the run', detail)];
}

const describeTime = (ms: number | null, slowness: number): string =>
  `${ms === null ? 'never' : `${Math.round(ms)} ms`}, on a machine slowed down ${slowness.toFixed(1)} times`;
