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
  healthy: Claims;
  failing: Claims;
  timer: NodeJS.Timeout | undefined;
  drainingSince: number | undefined;
}

/** Claims of healthy or of failing endpoints. Those of failing ones take their time beside the others, not between them. */
interface Claims {
  isFailing: boolean;
  isClaiming: boolean;
  claimAgain: boolean;
  /** True if the last claim left endpoints that are due. */
  isCrowded: boolean;
}

interface HeldEndpoint {
  endpoint: ServedEndpoint;
  renewedAt: number;
}

const deliveryState = perService(
  (): DeliveryState => ({
    served: new Map(),
    slots: pLimit(ATTEMPTS_MAX),
    healthy: { isFailing: false, isClaiming: false, claimAgain: false, isCrowded: false },
    failing: { isFailing: true, isClaiming: false, claimAgain: false, isCrowded: false },
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
  await Promise.all([claimWhileAsked(state, state.healthy), claimWhileAsked(state, state.failing)]);
}

async function claimWhileAsked(state: DeliveryState, claims: Claims): Promise<void> {
  claims.claimAgain = true;
  if (claims.isClaiming) return;
  claims.isClaiming = true;
  try {
    while (claims.claimAgain && !isDraining()) {
      claims.claimAgain = false;
      await claimDue(state, claims);
    }
  } finally {
    claims.isClaiming = false;
  }
}

async function claimDue(state: DeliveryState, claims: Claims): Promise<void> {
  const room = getRoom(state, claims);
  const claimed = room > 0 ? await claimEndpoints(claims.isFailing, room, [...state.served.keys()]) : [];
  for (const lease of claimed) startService(state, lease);
  // If all places were taken, more may be due.
  claims.isCrowded = claimed.length >= room;
}

function getRoom({ served }: DeliveryState, { isFailing }: Claims): number {
  const room = ATTEMPTS_MAX - served.size;
  if (!isFailing) return room;
  const failing = [...served.values()].filter(({ endpoint }) => endpoint.lease.isFailing).length;
  return Math.min(room, FAILING_ENDPOINTS_MAX - failing);
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
  if (isDue || isCrowded(state)) triggerClaim(state);
}

const isCrowded = ({ healthy, failing }: DeliveryState): boolean => healthy.isCrowded || failing.isCrowded;

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
function endTurns(state: DeliveryState): void {
  if (!isCrowded(state)) return;
  const before = performance.now() - TURN_MS;
  for (const { endpoint } of state.served.values()) if (endpoint.startedAt <= before) endpoint.isEnding = true;
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
