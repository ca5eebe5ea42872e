import pLimit from 'p-limit';
import { isDraining, trackInFlight } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { webhookEndpointsServed } from '../../lib/metrics.ts';
import { perService } from '../../lib/serviceScope.ts';
import { type ClaimedEndpoint, claimEndpoints, renewLeases } from './leases.ts';
import { type AttemptSlots, type ServedEndpoint, serveEndpoint } from './serveEndpoint.ts';

/** Number of attempts in flight of this process. */
const ATTEMPTS_MAX = 2_048;
/** Number of healthy endpoints that this process serves. */
const HEALTHY_ENDPOINTS_MAX = ATTEMPTS_MAX;
/** Number of endpoints whose last attempt failed. Each has one attempt in flight, so they use half of the connections. */
const FAILING_ENDPOINTS_MAX = ATTEMPTS_MAX / 2;

const TICK_MS = 1_000;
/** Leases are renewed when a third of their duration has passed. */
const RENEW_AFTER_MS = 10_000;
/** Time for which an endpoint is served while others wait for a place. */
const TURN_MS = 5_000;
/** Time for attempts in flight when the process shuts down. Their deliveries are repeated by another one. */
const DRAIN_ATTEMPTS_MS = 5_000;

interface DeliveryState {
  healthy: Claims;
  failing: Claims;
  slots: AttemptSlots;
  timer: NodeJS.Timeout | undefined;
  drainingSince: number | undefined;
}

/**
 * The healthy or the failing endpoints that this process serves. The two are claimed at the same time, and each has its own
 * maximum: claims of failing endpoints, which hold their place for as long as their receivers hang, delay no healthy one.
 */
interface Claims {
  readonly isFailing: boolean;
  readonly maxServed: number;
  served: Map<number, HeldEndpoint>;
  isClaiming: boolean;
  claimAgain: boolean;
  /** True if the last claim left endpoints that are due. */
  isCrowded: boolean;
}

interface HeldEndpoint {
  endpoint: ServedEndpoint;
  renewedAt: number;
}

const createClaims = (isFailing: boolean, maxServed: number): Claims => ({
  isFailing,
  maxServed,
  served: new Map(),
  isClaiming: false,
  claimAgain: false,
  isCrowded: false,
});

const deliveryState = perService(
  (): DeliveryState => ({
    healthy: createClaims(false, HEALTHY_ENDPOINTS_MAX),
    failing: createClaims(true, FAILING_ENDPOINTS_MAX),
    slots: pLimit(ATTEMPTS_MAX),
    timer: undefined,
    drainingSince: undefined,
  }),
);

/** Counts the endpoints of both kinds, at each start and end of a service: a list of thousands would cost as much as it. */
const countServed = ({ healthy, failing }: DeliveryState): number => healthy.served.size + failing.served.size;

/** Returns the endpoints of both kinds. */
const listServed = ({ healthy, failing }: DeliveryState): HeldEndpoint[] => [
  ...healthy.served.values(),
  ...failing.served.values(),
];

/**
 * Starts to deliver to all endpoints that have a delivery due, as far as this process has room. Resolves when nothing
 * more can be claimed, without waiting for the attempts. Calls while it claims are merged into one more pass.
 */
export async function deliverWebhooks(): Promise<void> {
  const state = deliveryState();
  // The deliveries may be those of an endpoint that is served here.
  wakeServed(state);
  await claimBoth(state);
}

/** Waits for both kinds, also if one fails. */
async function claimBoth(state: DeliveryState): Promise<void> {
  const results = await Promise.allSettled([claimAllDue(state, state.healthy), claimAllDue(state, state.failing)]);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function claimAllDue(state: DeliveryState, claims: Claims): Promise<void> {
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
  const room = claims.maxServed - claims.served.size;
  const excluded = listServed(state).map(({ endpoint }) => endpoint.lease.id);
  const claimed = room > 0 ? await claimEndpoints(claims.isFailing, room, excluded) : [];
  for (const lease of claimed) startService(state, claims, lease);
  // If all places are taken, more may be due.
  claims.isCrowded = claimed.length === room;
}

function startService(state: DeliveryState, claims: Claims, lease: ClaimedEndpoint): void {
  const { served, done } = serveEndpoint(lease, state.slots);
  const held = { endpoint: served, renewedAt: performance.now() };
  claims.served.set(lease.id, held);
  webhookEndpointsServed.set(countServed(state));
  state.timer ??= setInterval(() => void tick(state), TICK_MS);
  trackInFlight(finishService(state, claims, held, done));
}

async function finishService(
  state: DeliveryState,
  claims: Claims,
  held: HeldEndpoint,
  done: Promise<boolean>,
): Promise<void> {
  const isDue = await done;
  claims.served.delete(held.endpoint.lease.id);
  const servedCount = countServed(state);
  webhookEndpointsServed.set(servedCount);
  if (servedCount === 0) stopTimer(state);
  // The first attempt that succeeds makes a failing endpoint a healthy one.
  if (isDue) triggerClaim(() => claimBoth(state));
  else if (claims.isCrowded) triggerClaim(() => claimAllDue(state, claims));
}

function stopTimer(state: DeliveryState): void {
  clearInterval(state.timer);
  state.timer = undefined;
}

/**
 * Starts a pass without waiting for it. After a failure, the sweep starts the next one. The endpoints that are served here
 * are not read again, as no delivery was created: with many of them, that would be most of the work.
 */
function triggerClaim(claim: () => Promise<void>): void {
  if (isDraining()) return;
  trackInFlight(
    claim().catch((err: unknown) => {
      logger.warn({ err }, 'webhook endpoints not claimed; sweep will retry');
    }),
  );
}

/** Continues services that wait for an attempt: a delivery may have become due meanwhile. */
function wakeServed(state: DeliveryState): void {
  for (const { endpoint } of listServed(state)) endpoint.checkForMore();
}

async function tick(state: DeliveryState): Promise<void> {
  if (isDraining()) abortLateAttempts(state);
  else for (const claims of [state.healthy, state.failing]) endTurns(claims);
  wakeServed(state);
  await renewServed(state).catch((err: unknown) => logger.warn({ err }, 'webhook leases not renewed; will retry'));
}

function abortLateAttempts(state: DeliveryState): void {
  state.drainingSince ??= performance.now();
  if (performance.now() - state.drainingSince < DRAIN_ATTEMPTS_MS) return;
  for (const { endpoint } of listServed(state)) {
    for (const { abort } of endpoint.attempts.values()) abort.abort();
  }
}

/** Makes room for endpoints that wait, when others of their kind have been served for a while. */
function endTurns({ isCrowded, served }: Claims): void {
  if (!isCrowded) return;
  const before = performance.now() - TURN_MS;
  for (const { endpoint } of served.values()) if (endpoint.startedAt <= before) endpoint.isEnding = true;
}

/** Extends old leases. An endpoint whose lease has been lost gets no further attempts. */
async function renewServed(state: DeliveryState): Promise<void> {
  const startedAt = performance.now();
  const old = listServed(state).filter(({ renewedAt }) => renewedAt <= startedAt - RENEW_AFTER_MS);
  if (old.length === 0) return;
  const mine = await renewLeases(old.map(({ endpoint }) => endpoint.lease));
  for (const held of old) {
    if (mine.has(held.endpoint.lease.id)) held.renewedAt = startedAt;
    else held.endpoint.isEnding = true;
  }
}
