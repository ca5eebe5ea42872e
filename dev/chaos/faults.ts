import { setTimeout as delay } from 'node:timers/promises';
import { DAY_MS } from '../../shared/spec/durations.ts';
import type { UpstreamFault } from '../../test/fakes/fakeUpstream.ts';
import type { FaultProxy } from '../../test/fakes/faultProxy.ts';
import type { Misbehaviour } from '../../test/fakes/misbehave.ts';
import type { ModerationFault } from '../../test/fakes/moderationService.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';
import type { Fault as StripeFault, Faults as StripeFaults } from '../../test/fakes/stripe/faults.ts';
import type { ChaosEnvironment, ProxySide } from './environment.ts';
import type { ManagedProcess } from './managedProcess.ts';
import { MODERATION_FAULTS } from './moderation.ts';
import { MAX_PAUSES_MS, pauseTransactions, stopPauses } from './pausedTransactions.ts';

type Begin = (environment: ChaosEnvironment, target: string, random: SeededRandom) => unknown;
type End = (environment: ChaosEnvironment, target: string) => unknown;
type DurationMs = readonly [min: number, max: number];

/** A fault that can be injected and removed. */
export interface Fault {
  /** Relative frequency among all faults; 0 if the schedule plans it at a certain time. */
  weight: number;
  /** Possible targets, of which the schedule picks one. */
  targets: readonly string[];
  /** Resources that no other fault may affect at the same time. */
  locks: (target: string) => readonly string[];
  durationMs: DurationMs;
  begin: Begin;
  end: End | undefined;
}

const APIS = ['api 1', 'api 2'];
const PROCESSES = [...APIS, 'worker 1', 'worker 2'];
const SIDES = ['apis', 'workers', 'all'];
const MONTH_MS = 31 * DAY_MS;
/** Times of the day, in UTC, to which the clocks of a fault are moved, in milliseconds before midnight. */
const TIMES_OF_DAY: Record<string, number> = {
  '10 s before midnight': 10_000,
  '17 s before midnight': 17_000,
  noon: DAY_MS / 2,
};
/** The size of a jump of a corrected clock, or after a machine paused. Leases shift by as much. */
const CLOCK_JUMP_MS = 60_000;
/** Renewals run this long after a month has passed. */
const RENEWAL_DELAY_MS = 2_000;
const NO_TIME: DurationMs = [0, 0];
/** Resources of a jump of all clocks: no process may be paused, use another clock, or miss webhooks meanwhile. */
const ALL_CLOCKS = [...PROCESSES, 'Stripe', 'webhooks'];

type UpstreamRequest = 'submit' | 'status' | 'result' | 'file';
const UPSTREAM_FAULTS: Record<UpstreamRequest, ((UpstreamFault & string) | number)[]> = {
  submit: ['hang', 'garbage', 'error', 'drop', 'busy', 'drop after acceptance', 'refuse'],
  status: ['hang', 'garbage', 'error', 'drop', 'busy', 'lose'],
  result: ['hang', 'garbage', 'error', 'drop', 'busy'],
  file: ['hang', 'garbage', 'error', 'drop', 'lose'],
};
const UPSTREAM_TARGETS = Object.entries(UPSTREAM_FAULTS).flatMap(([request, faults]) =>
  faults.map((how) => `${request}: ${how}`),
);
const STRIPE_FAULTS = ['error', 'error kept', 'busy', 'hang', 'hang after doing', 'drop', 'drop after doing'];

/** All faults by the name in the report. Their order is part of what a seed means. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'process killed': fault(10, PROCESSES, lockTarget, [500, 500], (environment, target) =>
    getProcess(environment, target).kill(),
  ),
  // Longer than a worker's lease, so that another worker takes its generations over before it comes back.
  'process paused': fault(
    6,
    PROCESSES,
    lockTarget,
    [1_000, 12_000],
    (environment, target) => getProcess(environment, target).pause(),
    (environment, target) => getProcess(environment, target).resume(),
  ),
  'clock jumps': fault(
    3,
    PROCESSES,
    lockTarget,
    [3_000, 10_000],
    (environment, target, random) => {
      environment.clocks.disturb();
      const jumpMs = Math.round((2 * random.next() - 1) * CLOCK_JUMP_MS);
      void getProcess(environment, target).setClock(environment.advancedMs() + jumpMs);
    },
    (environment, target) =>
      environment.clocks.correct(getProcess(environment, target).setClock(environment.advancedMs())),
  ),
  'day change': fault(0, ['10 s before midnight'], ALL_CLOCKS, NO_TIME, (environment, target) => {
    environment.stripe.delivery.sendDropped();
    environment.advanceTime(getTimeUntil(target, environment.now()));
  }),
  'month change': fault(0, ['17 s before midnight', 'noon'], ALL_CLOCKS, NO_TIME, async (environment, target) => {
    // Stripe would retry for days, and be asked for events that never arrived.
    environment.stripe.delivery.sendDropped();
    environment.advanceTime(MONTH_MS + getTimeUntil(target, environment.now()));
    // Creates come before the renewal, which the schedule may run half a minute later.
    await delay(RENEWAL_DELAY_MS);
    // Concurrent renewals meet each other.
    await environment.enqueueDuplicateJobs(6, 'creditPeriods.renew');
  }),
  rush: fault(
    0,
    ['clients'],
    [],
    NO_TIME,
    (environment) => (environment.isRush = true),
    (environment) => (environment.isRush = false),
  ),
  'duplicate jobs': fault(3, ['queues'], 'Redis', NO_TIME, (environment) => environment.enqueueDuplicateJobs(2)),
  'Redis emptied': fault(8, ['Redis'], 'Redis', NO_TIME, (environment) => environment.emptyRedis()),
  'Redis killed': fault(2, ['Redis'], 'Redis', [2_000, 2_000], ({ redis }) => redis.killAndRestart()),
  'Redis paused': fault(2, ['Redis'], 'Redis', [1_000, 8_000], pause('redis'), resume('redis')),
  'Redis refuses': cutOff(2, 'Redis', [1_000, 8_000], (proxy) => proxy.refuse()),
  'Redis unreachable': cutOff(2, 'Redis', [1_000, 8_000], (proxy) => proxy.freeze()),
  'Redis replies cut': cutOff(2, 'Redis', [1_000, 5_000], cutReplies(0.1)),
  'Postgres killed': fault(2, ['Postgres'], 'Postgres', [3_000, 3_000], ({ postgres }) => postgres.killAndRestart()),
  'Postgres paused': fault(2, ['Postgres'], 'Postgres', [1_000, 8_000], pause('postgres'), resume('postgres')),
  'Postgres refuses': cutOff(2, 'Postgres', [1_000, 8_000], (proxy) => proxy.refuse()),
  'Postgres unreachable': cutOff(2, 'Postgres', [1_000, 8_000], (proxy) => proxy.freeze()),
  'Postgres replies cut': cutOff(6, 'Postgres', [2_000, 8_000], cutReplies(0.1)),
  'Postgres disk full': fault(
    2,
    ['Postgres'],
    'Postgres',
    [2_000, 8_000],
    ({ disk }) => disk?.fill(),
    ({ disk }) => disk?.free(),
  ),
  // A paused transaction holds its locks, so requests wait longer than during an outage alone.
  'transactions paused': fault(
    12,
    ['all tables'],
    'Postgres',
    [4_000, MAX_PAUSES_MS],
    ({ databaseUrl }) => pauseTransactions(databaseUrl),
    ({ databaseUrl }) => stopPauses(databaseUrl),
  ),
  'client responses cut': throughProxies(5, APIS, lockPath, [1_000, 6_000], cutReplies(0.3), listApiProxy),
  'clients disconnected': throughProxies(1, APIS, lockPath, [500, 4_000], (proxy) => proxy.refuse(), listApiProxy),
  'upstream misbehaves': fault(
    8,
    UPSTREAM_TARGETS,
    (target) => [`upstream ${target.split(':')[0]}`],
    [1_000, 8_000],
    ({ upstream }, target) => {
      const [request, how] = target.split(': ') as [UpstreamRequest, Misbehaviour];
      upstream[request] = how;
    },
    ({ upstream }, target) => (upstream[target.split(':')[0] as UpstreamRequest] = undefined),
  ),
  'upstream refuses connections': throughProxies(
    1,
    ['upstream'],
    lockPath,
    [1_000, 6_000],
    (proxy) => proxy.refuse(),
    ({ proxies }) => [proxies.upstream],
  ),
  'upstream responses cut': throughProxies(
    3,
    ['upstream'],
    lockPath,
    [1_000, 6_000],
    cutReplies(0.3),
    ({ proxies }) => [proxies.upstream],
  ),
  'Stripe misbehaves': stripeFault(6, STRIPE_FAULTS, 'Stripe', [1_000, 6_000], 'all'),
  // Only charges: one that is in progress when a month begins loses its response, too.
  'charge responses lost': stripeFault(
    8,
    ['drop after doing', 'hang after doing'],
    'charges',
    [6_000, 15_000],
    'intents.create',
  ),
  // In the last part of a run, so that some refunds are owed when it heals.
  'refunds fail': stripeFault(0, ['error', 'drop', 'hang'], 'refunds', NO_TIME, 'refunds.create'),
  'moderation fails': fault(
    0,
    MODERATION_FAULTS,
    'moderation',
    NO_TIME,
    ({ moderation }, target) => moderation !== null && (moderation.fault = target as ModerationFault),
    ({ moderation }) => moderation !== null && (moderation.fault = null),
  ),
  'webhooks delayed': fault(
    2,
    ['webhooks'],
    'webhooks',
    [2_000, 10_000],
    ({ stripe }) => (stripe.delivery.pause = true),
    ({ stripe }) => (stripe.delivery.pause = false),
  ),
};

/** @param locks the locked resources, if they do not depend on the target. */
function fault(
  weight: number,
  targets: readonly string[],
  locks: string | readonly string[] | Fault['locks'],
  durationMs: DurationMs,
  begin: Begin,
  end?: End,
): Fault {
  return { weight, targets, locks: typeof locks === 'function' ? locks : () => [locks].flat(), durationMs, begin, end };
}

function lockTarget(target: string): string[] {
  return [target];
}

function lockPath(target: string): string[] {
  return [`path to ${target}`];
}

function pause(server: 'postgres' | 'redis'): Begin {
  return (environment) => environment[server].pause();
}

function resume(server: 'postgres' | 'redis'): End {
  return (environment) => environment[server].resume();
}

type Cut = (proxy: FaultProxy, random: SeededRandom) => void;

function cutReplies(share: number): Cut {
  return (proxy, random) => proxy.cutReplies(() => random.chance(share));
}

/** Cuts processes of a kind, or all of them, off from a server. */
function cutOff(weight: number, server: 'Postgres' | 'Redis', durationMs: DurationMs, cut: Cut): Fault {
  return throughProxies(
    weight,
    SIDES,
    () => [server],
    durationMs,
    cut,
    ({ proxies }, target) => {
      const sides = proxies[server === 'Redis' ? 'redis' : 'postgres'];
      return target === 'all' ? [sides.apis, sides.workers] : [sides[target as ProxySide]];
    },
  );
}

function throughProxies(
  weight: number,
  targets: readonly string[],
  locks: Fault['locks'],
  durationMs: DurationMs,
  cut: Cut,
  list: (environment: ChaosEnvironment, target: string) => FaultProxy[],
): Fault {
  return fault(
    weight,
    targets,
    locks,
    durationMs,
    (environment, target, random) => list(environment, target).forEach((proxy) => cut(proxy, random)),
    (environment, target) => list(environment, target).forEach((proxy) => proxy.open()),
  );
}

function listApiProxy({ proxies }: ChaosEnvironment, api: string): FaultProxy[] {
  return [proxies.apis[APIS.indexOf(api)] as FaultProxy];
}

function stripeFault(
  weight: number,
  targets: readonly string[],
  lock: string,
  durationMs: DurationMs,
  call: keyof StripeFaults,
): Fault {
  return fault(
    weight,
    targets,
    lock,
    durationMs,
    ({ stripe }, target) => (stripe.faults[call] = target as StripeFault),
    ({ stripe }) => delete stripe.faults[call],
  );
}

/** Returns the milliseconds until a time of the day, which is a name of `TIMES_OF_DAY`. */
function getTimeUntil(name: string, now: Date): number {
  const at = DAY_MS - (TIMES_OF_DAY[name] ?? 0);
  return (at - (now.getTime() % DAY_MS) + DAY_MS) % DAY_MS;
}

function getProcess(environment: ChaosEnvironment, name: string): ManagedProcess {
  return environment.processes.get(name) as ManagedProcess;
}
