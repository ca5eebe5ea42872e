import type { Misbehaviour } from '../../test/fakes/misbehave.ts';
import type { Fault as StripeFault } from '../../test/fakes/stripe/faults.ts';
import type { FakeFal } from '../../test/fakes/upstreams/fal.ts';
import type { ManagedProcess } from './managedProcess.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';
import type { ProxySide, ChaosEnvironment } from './environment.ts';

/** A fault that can be injected and removed. */
export interface Fault {
  /** Relative frequency among all faults. */
  weight: number;
  /** Possible targets, of which the schedule picks one. */
  targets: readonly string[];
  /** Resources that no other fault may affect at the same time. */
  locks: (target: string) => readonly string[];
  /** Duration in milliseconds: minimum and maximum. */
  durationMs: readonly [number, number];
  begin: (environment: ChaosEnvironment, target: string, random: SeededRandom) => unknown;
  end?: (environment: ChaosEnvironment, target: string) => unknown;
}

const APIS = ['api 1', 'api 2'];
const WORKERS = ['worker 1', 'worker 2'];
const PROCESSES = [...APIS, ...WORKERS];
const PROXY_SIDES = ['apis', 'workers', 'all'];
const MONTH_MS = 31 * 24 * 60 * 60 * 1_000;
/** The size of a jump of a corrected clock, or after a machine paused. Leases shift by as much. */
const CLOCK_JUMP_MS = 60_000;

const targetItself = (target: string) => [target];
const wholeServer = (name: string) => () => [name];

function getSides(target: string): ProxySide[] {
  return target === 'all' ? ['apis', 'workers'] : [target as ProxySide];
}

function getProcess(environment: ChaosEnvironment, name: string): ManagedProcess {
  const managedProcess = environment.processes.get(name);
  if (managedProcess === undefined) throw new Error(`There is no process ${name}.`);
  return managedProcess;
}

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

type UpstreamRequest = 'submit' | 'status' | 'result' | 'file';
const UPSTREAM_FAULTS: Record<UpstreamRequest, NonNullable<FakeFal['submit']>[]> = {
  submit: ['hang', 'garbage', 'error', 'drop', 'busy', 'drop after acceptance', 'refuse'],
  status: ['hang', 'garbage', 'error', 'drop', 'busy', 'forget'],
  result: ['hang', 'garbage', 'error', 'drop', 'busy'],
  file: ['hang', 'garbage', 'error', 'drop', 'forget'],
};
const STRIPE_FAULTS: StripeFault[] = [
  'error',
  'error kept',
  'busy',
  'hang',
  'hang after doing',
  'drop',
  'drop after doing',
];

/** All faults by the name in the report. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'process killed': {
    weight: 10,
    targets: PROCESSES,
    locks: targetItself,
    durationMs: [500, 500],
    begin: (environment, target) => getProcess(environment, target).kill(),
  },
  'process paused': {
    weight: 6,
    targets: PROCESSES,
    locks: targetItself,
    // Longer than a worker's lease, so that another worker takes its generations over before it comes back.
    durationMs: [1_000, 12_000],
    begin: (environment, target) => getProcess(environment, target).pause(),
    end: (environment, target) => getProcess(environment, target).resume(),
  },
  'clock jumps': {
    weight: 3,
    targets: PROCESSES,
    locks: targetItself,
    durationMs: [3_000, 10_000],
    begin: (environment, target, random) =>
      getProcess(environment, target).setClock(
        environment.advancedMs() + Math.round((2 * random.next() - 1) * CLOCK_JUMP_MS),
      ),
    end: (environment, target) => getProcess(environment, target).setClock(environment.advancedMs()),
  },
  'month change': {
    weight: 0,
    targets: ['everything'],
    // No process may be paused, use another clock, or miss webhooks meanwhile.
    locks: () => [...PROCESSES, 'Stripe', 'webhooks'],
    durationMs: [0, 0],
    begin: (environment) => {
      // Stripe would retry for days, and be asked for events that never arrived.
      environment.stripe.delivery.sendDropped();
      environment.advanceTime(MONTH_MS);
      // Concurrent renewals meet each other.
      return environment.enqueueDuplicateJobs(6, 'creditPeriods.renew');
    },
  },
  rush: {
    // At the end of a month, which is when the schedule plans it: see schedule.ts.
    weight: 0,
    targets: ['clients'],
    locks: () => [],
    durationMs: [0, 0],
    begin: (environment) => {
      environment.isRush = true;
    },
    end: (environment) => {
      environment.isRush = false;
    },
  },
  'duplicate jobs': {
    weight: 3,
    targets: ['queues'],
    locks: wholeServer('Redis'),
    durationMs: [0, 0],
    begin: (environment) => environment.enqueueDuplicateJobs(2),
  },
  'Redis emptied': {
    weight: 8,
    targets: ['Redis'],
    locks: wholeServer('Redis'),
    durationMs: [0, 0],
    begin: (environment) => environment.emptyRedis(),
  },
  'Redis killed': {
    weight: 2,
    targets: ['Redis'],
    locks: wholeServer('Redis'),
    durationMs: [2_000, 2_000],
    begin: (environment) => environment.redis.killAndRestart(),
  },
  'Redis paused': {
    weight: 2,
    targets: ['Redis'],
    locks: wholeServer('Redis'),
    durationMs: [1_000, 8_000],
    begin: (environment) => environment.redis.pause(),
    end: (environment) => environment.redis.resume(),
  },
  'Redis refuses': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: wholeServer('Redis'),
    durationMs: [1_000, 8_000],
    ...proxyFault('redis', 'refuse'),
  },
  'Redis unreachable': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: wholeServer('Redis'),
    durationMs: [1_000, 8_000],
    ...proxyFault('redis', 'freeze'),
  },
  'Redis replies cut': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: wholeServer('Redis'),
    durationMs: [1_000, 5_000],
    ...proxyFault('redis', 'cut'),
  },
  'Postgres killed': {
    weight: 2,
    targets: ['Postgres'],
    locks: wholeServer('Postgres'),
    durationMs: [3_000, 3_000],
    begin: (environment) => environment.postgres.killAndRestart(),
  },
  'Postgres paused': {
    weight: 2,
    targets: ['Postgres'],
    locks: wholeServer('Postgres'),
    durationMs: [1_000, 8_000],
    begin: (environment) => environment.postgres.pause(),
    end: (environment) => environment.postgres.resume(),
  },
  'Postgres refuses': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: wholeServer('Postgres'),
    durationMs: [1_000, 8_000],
    ...proxyFault('postgres', 'refuse'),
  },
  'Postgres unreachable': {
    weight: 2,
    targets: PROXY_SIDES,
    locks: wholeServer('Postgres'),
    durationMs: [1_000, 8_000],
    ...proxyFault('postgres', 'freeze'),
  },
  'Postgres replies cut': {
    weight: 6,
    targets: PROXY_SIDES,
    locks: wholeServer('Postgres'),
    durationMs: [2_000, 8_000],
    ...proxyFault('postgres', 'cut'),
  },
  'Postgres disk full': {
    weight: 2,
    targets: ['Postgres'],
    locks: wholeServer('Postgres'),
    durationMs: [2_000, 8_000],
    begin: (environment) => environment.disk?.fill(),
    end: (environment) => environment.disk?.free(),
  },
  'client responses cut': {
    weight: 5,
    targets: APIS,
    locks: (target) => [`path to ${target}`],
    durationMs: [1_000, 6_000],
    begin: (environment, target, random) => getApiProxy(environment, target).cutReplies(() => random.chance(0.3)),
    end: (environment, target) => getApiProxy(environment, target).open(),
  },
  'clients disconnected': {
    weight: 1,
    targets: APIS,
    locks: (target) => [`path to ${target}`],
    durationMs: [500, 4_000],
    begin: (environment, target) => getApiProxy(environment, target).refuse(),
    end: (environment, target) => getApiProxy(environment, target).open(),
  },
  'upstream misbehaves': {
    weight: 8,
    targets: Object.entries(UPSTREAM_FAULTS).flatMap(([request, faults]) => faults.map((how) => `${request}: ${how}`)),
    locks: (target) => [`upstream ${target.split(':')[0]}`],
    durationMs: [1_000, 8_000],
    begin: ({ upstream }, target) => {
      const [request, how] = target.split(': ') as [UpstreamRequest, Misbehaviour];
      upstream[request] = how;
    },
    end: ({ upstream }, target) => {
      upstream[target.split(':')[0] as UpstreamRequest] = undefined;
    },
  },
  'upstream refuses connections': {
    weight: 1,
    targets: ['upstream'],
    locks: wholeServer('path to upstream'),
    durationMs: [1_000, 6_000],
    begin: ({ proxies }) => proxies.upstream.refuse(),
    end: ({ proxies }) => proxies.upstream.open(),
  },
  'upstream responses cut': {
    weight: 3,
    targets: ['upstream'],
    locks: wholeServer('path to upstream'),
    durationMs: [1_000, 6_000],
    begin: ({ proxies }, _, random) => proxies.upstream.cutReplies(() => random.chance(0.3)),
    end: ({ proxies }) => proxies.upstream.open(),
  },
  'Stripe misbehaves': {
    weight: 6,
    targets: STRIPE_FAULTS,
    locks: wholeServer('Stripe'),
    durationMs: [1_000, 6_000],
    begin: ({ stripe }, target) => {
      stripe.faults.all = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults.all;
    },
  },
  'charge responses lost': {
    weight: 8,
    targets: ['drop after doing', 'hang after doing'],
    // Only charges: one that is in progress when a month begins loses its response, too.
    locks: wholeServer('charges'),
    durationMs: [6_000, 15_000],
    begin: ({ stripe }, target) => {
      stripe.faults['intents.create'] = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults['intents.create'];
    },
  },
  'refunds fail': {
    // In the last part of a run, so that some refunds are owed when it heals: see schedule.ts.
    weight: 0,
    targets: ['error', 'drop', 'hang'],
    locks: wholeServer('refunds'),
    durationMs: [0, 0],
    begin: ({ stripe }, target) => {
      stripe.faults['refunds.create'] = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults['refunds.create'];
    },
  },
  'webhooks delayed': {
    weight: 2,
    targets: ['webhooks'],
    locks: wholeServer('webhooks'),
    durationMs: [2_000, 10_000],
    begin: ({ stripe }) => {
      stripe.delivery.pause = true;
    },
    end: ({ stripe }) => {
      stripe.delivery.pause = false;
    },
  },
};

function getApiProxy(environment: ChaosEnvironment, api: string) {
  const proxy = environment.proxies.apis[APIS.indexOf(api)];
  if (proxy === undefined) throw new Error(`There is no process ${api}.`);
  return proxy;
}
