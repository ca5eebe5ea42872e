import pLimit from 'p-limit';
import { isDraining, trackInFlight } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { webhookEndpointsServed } from '../../lib/metrics.ts';
import { perService } from '../../lib/serviceScope.ts';
import { type ClaimedEndpoint, claimEndpoints, renewLeases } from './leases.ts';
import { type AttemptSlots, type ServedEndpoint, serveEndpoint } from './serveEndpoint.ts';

/** Number of attempts in flight of this process, and of endpoints that it serves. */
export const ATTEMPTS_MAX = 2_048;
/** Number of endpoints whose last attempt failed. Each has one attempt in flight, so they use half of the connections. */
export const FAILING_ENDPOINTS_MAX = ATTEMPTS_MAX / 2;

const TICK_MS = 1_000;
/** Leases are renewed when a third of their duration has passed. */
const RENEW_AFTER_MS = 10_000;
/** Time for which an endpoint is served while others wait for a place. */
const TURN_MS = 5_000;
/** Time for attempts in flight when the process shuts down. Their deliveries are repeated by another one. */
const DRAIN_ATTEMPTS_MS = 5_000;

interface DeliveryState {
  served: Map<number, HeldEndpoint>;
  slots: AttemptSlots;
  isClaiming: boolean;
  claimAgain: boolean;
  /** True if the last claim left endpoints that are due. */
  isCrowded: boolean;
  timer: NodeJS.Timeout | undefined;
  drainingSince: number | undefined;
}

interface HeldEndpoint {
  endpoint: ServedEndpoint;
  renewedAt: number;
}

const deliveryState = perService(
  (): DeliveryState => ({
    served: new Map(),
    slots: pLimit(ATTEMPTS_MAX),
    isClaiming: false,
    claimAgain: false,
    isCrowded: false,
    timer: undefined,
    drainingSince: undefined,
  }),
);

/**
 * Starts to deliver to all endpoints that have a delivery due, as far as this process has room. Resolves when nothing
 * more can be claimed, without waiting for the attempts. Calls while it claims are merged into one more pass.
 */
export async function deliverWebhooks(): Promise<void> {
  const state = deliveryState();
  // The deliveries may be those of an endpoint that is served here.
  wakeServed(state);
  await claimAllDue(state);
}

async function claimAllDue(state: DeliveryState): Promise<void> {
  state.claimAgain = true;
  if (state.isClaiming) return;
  state.isClaiming = true;
  try {
    while (state.claimAgain && !isDraining()) {
      state.claimAgain = false;
      await claimDue(state);
    }
  } finally {
    state.isClaiming = false;
  }
}

async function claimDue(state: DeliveryState): Promise<void> {
  const served = [...state.served.values()];
  const failing = served.filter(({ endpoint }) => endpoint.lease.isFailing).length;
  const isHealthyFull = await claim(state, false, ATTEMPTS_MAX - served.length);
  const room = Math.min(FAILING_ENDPOINTS_MAX - failing, ATTEMPTS_MAX - state.served.size);
  const isFailingFull = await claim(state, true, room);
  state.isCrowded = isHealthyFull || isFailingFull;
}

/** @returns true if more may be due than there is room for. */
async function claim(state: DeliveryState, isFailing: boolean, room: number): Promise<boolean> {
  if (room <= 0) return true;
  const claimed = await claimEndpoints(isFailing, room, [...state.served.keys()]);
  for (const lease of claimed) startService(state, lease);
  return claimed.length === room;
}

function startService(state: DeliveryState, lease: ClaimedEndpoint): void {
  const { served, done } = serveEndpoint(lease, state.slots);
  state.served.set(lease.id, { endpoint: served, renewedAt: performance.now() });
  webhookEndpointsServed.set(state.served.size);
  state.timer ??= setInterval(() => void tick(state), TICK_MS);
  trackInFlight(finishService(state, lease.id, done));
}

async function finishService(state: DeliveryState, id: number, done: Promise<boolean>): Promise<void> {
  const isDue = await done;
  state.served.delete(id);
  webhookEndpointsServed.set(state.served.size);
  if (state.served.size === 0) stopTimer(state);
  if (isDue || state.isCrowded) triggerClaim(state);
}

function stopTimer(state: DeliveryState): void {
  clearInterval(state.timer);
  state.timer = undefined;
}

/**
 * Starts a pass without waiting for it. After a failure, the sweep starts the next one. The endpoints that are served here
 * are not read again, as no delivery was created: with many of them, that would be most of the work.
 */
function triggerClaim(state: DeliveryState): void {
  if (isDraining()) return;
  trackInFlight(
    claimAllDue(state).catch((err: unknown) => {
      logger.warn({ err }, 'webhook endpoints not claimed; sweep will retry');
    }),
  );
}

/** Continues services that wait for an attempt: a delivery may have become due meanwhile. */
function wakeServed({ served }: DeliveryState): void {
  for (const { endpoint } of served.values()) endpoint.checkForMore();
}

async function tick(state: DeliveryState): Promise<void> {
  if (isDraining()) abortLateAttempts(state);
  else endTurns(state);
  wakeServed(state);
  await renewServed(state).catch((err: unknown) => logger.warn({ err }, 'webhook leases not renewed; will retry'));
}

function abortLateAttempts(state: DeliveryState): void {
  state.drainingSince ??= performance.now();
  if (performance.now() - state.drainingSince < DRAIN_ATTEMPTS_MS) return;
  for (const { endpoint } of state.served.values()) {
    for (const { abort } of endpoint.attempts.values()) abort.abort();
  }
}

/** Makes room for endpoints that wait, when others have been served for a while. */
function endTurns({ isCrowded, served }: DeliveryState): void {
  if (!isCrowded) return;
  const before = performance.now() - TURN_MS;
  for (const { endpoint } of served.values()) if (endpoint.startedAt <= before) endpoint.isEnding = true;
}

/** Extends old leases. An endpoint whose lease has been lost gets no further attempts. */
async function renewServed({ served }: DeliveryState): Promise<void> {
  const startedAt = performance.now();
  const old = [...served.values()].filter(({ renewedAt }) => renewedAt <= startedAt - RENEW_AFTER_MS);
  if (old.length === 0) return;
  const mine = await renewLeases(old.map(({ endpoint }) => endpoint.lease));
  for (const held of old) {
    if (mine.has(held.endpoint.lease.id)) held.renewedAt = startedAt;
    else held.endpoint.isEnding = true;
  }
}
