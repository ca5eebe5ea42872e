import type { ChaosEnvironment, ProxySide } from '../environment.ts';
import { MAX_PAUSES_MS, pauseTransactions, stopPauses } from '../pausedTransactions.ts';
import { type Fault, type Faults, lockOnly } from './fault.ts';

const PROXY_SIDES = ['apis', 'workers', 'all'];

/** Faults of Redis and Postgres, and of the connections to them. */
export const SERVER_FAULTS: Faults = {
  'duplicate jobs': {
    weight: 3,
    targets: ['queues'],
    locks: lockOnly('Redis'),
    durationMs: [0, 0],
    begin: (environment) => environment.enqueueDuplicateJobs(2),
  },
  'Redis emptied': {
    weight: 8,
    targets: ['Redis'],
    locks: lockOnly('Redis'),
    durationMs: [0, 0],
    begin: (environment) => environment.emptyRedis(),
  },
  'Redis killed': {
    weight: 2,
    targets: ['Redis'],
    locks: lockOnly('Redis'),
    durationMs: [2_000, 2_000],
    begin: (environment) => environment.redis.killAndRestart(),
  },
  'Redis paused': {
    weight: 2,
    targets: ['Redis'],
    locks: lockOnly('Redis'),
    durationMs: [1_000, 8_000],
    begin: (environment) => environment.redis.pause(),
    end: (environment) => environment.redis.resume(),
  },
  'Redis refuses': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: lockOnly('Redis'),
    durationMs: [1_000, 8_000],
    ...proxyFault('redis', 'refuse'),
  },
  'Redis unreachable': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: lockOnly('Redis'),
    durationMs: [1_000, 8_000],
    ...proxyFault('redis', 'freeze'),
  },
  'Redis replies cut': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: lockOnly('Redis'),
    durationMs: [1_000, 5_000],
    ...proxyFault('redis', 'cut'),
  },
  'Postgres killed': {
    weight: 2,
    targets: ['Postgres'],
    locks: lockOnly('Postgres'),
    durationMs: [3_000, 3_000],
    begin: (environment) => environment.postgres.killAndRestart(),
  },
  'Postgres paused': {
    weight: 2,
    targets: ['Postgres'],
    locks: lockOnly('Postgres'),
    durationMs: [1_000, 8_000],
    begin: (environment) => environment.postgres.pause(),
    end: (environment) => environment.postgres.resume(),
  },
  'Postgres refuses': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: lockOnly('Postgres'),
    durationMs: [1_000, 8_000],
    ...proxyFault('postgres', 'refuse'),
  },
  'Postgres unreachable': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: lockOnly('Postgres'),
    durationMs: [1_000, 8_000],
    ...proxyFault('postgres', 'freeze'),
  },
  'Postgres replies cut': {
    weight: 6,
    targets: PROXY_SIDES,
    locks: lockOnly('Postgres'),
    durationMs: [2_000, 8_000],
    ...proxyFault('postgres', 'cut'),
  },
  'Postgres disk full': {
    weight: 2,
    targets: ['Postgres'],
    locks: lockOnly('Postgres'),
    durationMs: [2_000, 8_000],
    begin: (environment) => environment.disk?.fill(),
    end: (environment) => environment.disk?.free(),
  },
  'transactions paused': {
    weight: 12,
    targets: ['all tables'],
    // A paused transaction holds its locks, so requests wait longer than during an outage alone.
    locks: lockOnly('Postgres'),
    durationMs: [4_000, MAX_PAUSES_MS],
    begin: ({ databaseUrl }) => pauseTransactions(databaseUrl),
    end: ({ databaseUrl }) => stopPauses(databaseUrl),
  },
};

/** A fault that makes a server's proxies on some sides refuse, freeze or cut replies. */
function proxyFault(server: 'postgres' | 'redis', mode: 'refuse' | 'freeze' | 'cut'): Pick<Fault, 'begin' | 'end'> {
  const each = (environment: ChaosEnvironment, target: string) =>
    getSides(target).map((side) => environment.proxies[server][side]);
  return {
    begin: (environment, target, random) => {
      for (const proxy of each(environment, target)) {
        if (mode === 'refuse') proxy.refuse();
        else if (mode === 'freeze') proxy.freeze();
        else proxy.cutReplies(() => random.chance(0.1));
      }
    },
    end: (environment, target) => {
      for (const proxy of each(environment, target)) proxy.open();
    },
  };
}

function getSides(target: string): ProxySide[] {
  return target === 'all' ? ['apis', 'workers'] : [target as ProxySide];
}
