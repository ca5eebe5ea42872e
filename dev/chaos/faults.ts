import type { Misbehaviour } from '../standins/misbehave.ts';
import type { Fault as StripeFault } from '../standins/stripe/faults.ts';
import type { StandInUpstream } from '../standins/upstream.ts';
import type { Part } from './part.ts';
import type { Random } from '../random.ts';
import type { Side, Stage } from './stage.ts';

/** Something that can go wrong, and be right again. */
export interface Fault {
  /** Among the others: how often it is chosen. */
  weight: number;
  /** What it can befall, of which the schedule picks one. */
  targets: readonly string[];
  /** What no other fault may befall at the same time. */
  holds: (target: string) => readonly string[];
  /** How long it goes on, in milliseconds: at least and at most. */
  forMs: readonly [number, number];
  begin: (stage: Stage, target: string, random: Random) => unknown;
  end?: (stage: Stage, target: string) => unknown;
}

const APIS = ['api 1', 'api 2'];
const WORKERS = ['worker 1', 'worker 2'];
const PARTS = [...APIS, ...WORKERS];
const SIDES = ['apis', 'workers', 'all'];
const MONTH_MS = 31 * 24 * 60 * 60 * 1_000;
/** As far as clocks that are set right jump, and machines that paused; what holds for so long as a lease shifts by it. */
const CLOCK_JUMP_MS = 60_000;

const itself = (target: string) => [target];
const whole = (name: string) => () => [name];

function sidesOf(target: string): Side[] {
  return target === 'all' ? ['apis', 'workers'] : [target as Side];
}

function partOf(stage: Stage, name: string): Part {
  const part = stage.parts.get(name);
  if (part === undefined) throw new Error(`There is no process ${name}.`);
  return part;
}

/** The proxies of a server on some sides are told to refuse, to freeze, or to cut replies, and then to be open again. */
function betweenUsAnd(server: 'postgres' | 'redis', how: 'refuse' | 'freeze' | 'cut'): Pick<Fault, 'begin' | 'end'> {
  const each = (stage: Stage, target: string) => sidesOf(target).map((side) => stage.proxies[server][side]);
  return {
    begin: (stage, target, random) => {
      for (const proxy of each(stage, target)) {
        if (how === 'refuse') proxy.refuse();
        else if (how === 'freeze') proxy.freeze();
        else proxy.cutReplies(() => random.chance(0.1));
      }
    },
    end: (stage, target) => {
      for (const proxy of each(stage, target)) proxy.open();
    },
  };
}

type UpstreamRequest = 'submit' | 'status' | 'result' | 'file';
const UPSTREAM_FAULTS: Record<UpstreamRequest, NonNullable<StandInUpstream['submit']>[]> = {
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

/** Every fault there is, by the name that the report gives it. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'process killed': {
    weight: 10,
    targets: PARTS,
    holds: itself,
    forMs: [500, 500],
    begin: (stage, target) => partOf(stage, target).kill(),
  },
  'process stopped': {
    weight: 6,
    targets: PARTS,
    holds: itself,
    // Longer than a worker's hold on its jobs, so that another takes them over and the first one comes back.
    forMs: [1_000, 12_000],
    begin: (stage, target) => partOf(stage, target).pause(),
    end: (stage, target) => partOf(stage, target).resume(),
  },
  'clock jumps': {
    weight: 3,
    targets: PARTS,
    holds: itself,
    forMs: [3_000, 10_000],
    begin: (stage, target, random) =>
      partOf(stage, target).setClock(stage.passedMs() + Math.round((2 * random.next() - 1) * CLOCK_JUMP_MS)),
    end: (stage, target) => partOf(stage, target).setClock(stage.passedMs()),
  },
  'a month passes': {
    weight: 0,
    targets: ['everything'],
    // Nobody stands still meanwhile, goes by another clock, or is kept from hearing of payments.
    holds: () => [...PARTS, 'Stripe', 'webhooks'],
    forMs: [0, 0],
    begin: (stage) => {
      // For days it would have tried again, and be asked for what never arrived.
      stage.stripe.delivery.sendDropped();
      stage.passTime(MONTH_MS);
      // Whoever looks what is due finds others looking.
      return stage.repeatJobs(6, 'credits.grant');
    },
  },
  'everybody comes': {
    // At the turn of a month, which is when it is planned: see schedule.ts.
    weight: 0,
    targets: ['clients'],
    holds: () => [],
    forMs: [0, 0],
    begin: (stage) => {
      stage.isRush = true;
    },
    end: (stage) => {
      stage.isRush = false;
    },
  },
  'jobs come again': {
    weight: 3,
    targets: ['queues'],
    holds: whole('Redis'),
    forMs: [0, 0],
    begin: (stage) => stage.repeatJobs(2),
  },
  'Redis emptied': {
    weight: 8,
    targets: ['Redis'],
    holds: whole('Redis'),
    forMs: [0, 0],
    begin: (stage) => stage.emptyRedis(),
  },
  'Redis killed': {
    weight: 2,
    targets: ['Redis'],
    holds: whole('Redis'),
    forMs: [2_000, 2_000],
    begin: (stage) => stage.redis.killAndRestart(),
  },
  'Redis stopped': {
    weight: 2,
    targets: ['Redis'],
    holds: whole('Redis'),
    forMs: [1_000, 8_000],
    begin: (stage) => stage.redis.pause(),
    end: (stage) => stage.redis.resume(),
  },
  'Redis refuses': {
    weight: 2,
    targets: SIDES,
    holds: whole('Redis'),
    forMs: [1_000, 8_000],
    ...betweenUsAnd('redis', 'refuse'),
  },
  'Redis out of reach': {
    weight: 2,
    targets: SIDES,
    holds: whole('Redis'),
    forMs: [1_000, 8_000],
    ...betweenUsAnd('redis', 'freeze'),
  },
  'replies of Redis cut': {
    weight: 2,
    targets: SIDES,
    holds: whole('Redis'),
    forMs: [1_000, 5_000],
    ...betweenUsAnd('redis', 'cut'),
  },
  'Postgres killed': {
    weight: 2,
    targets: ['Postgres'],
    holds: whole('Postgres'),
    forMs: [3_000, 3_000],
    begin: (stage) => stage.postgres.killAndRestart(),
  },
  'Postgres stopped': {
    weight: 2,
    targets: ['Postgres'],
    holds: whole('Postgres'),
    forMs: [1_000, 8_000],
    begin: (stage) => stage.postgres.pause(),
    end: (stage) => stage.postgres.resume(),
  },
  'Postgres refuses': {
    weight: 2,
    targets: SIDES,
    holds: whole('Postgres'),
    forMs: [1_000, 8_000],
    ...betweenUsAnd('postgres', 'refuse'),
  },
  'Postgres out of reach': {
    weight: 2,
    targets: SIDES,
    holds: whole('Postgres'),
    forMs: [1_000, 8_000],
    ...betweenUsAnd('postgres', 'freeze'),
  },
  'replies of Postgres cut': {
    weight: 6,
    targets: SIDES,
    holds: whole('Postgres'),
    forMs: [2_000, 8_000],
    ...betweenUsAnd('postgres', 'cut'),
  },
  'Postgres out of disk': {
    weight: 2,
    targets: ['Postgres'],
    holds: whole('Postgres'),
    forMs: [2_000, 8_000],
    begin: (stage) => stage.disk?.fill(),
    end: (stage) => stage.disk?.makeRoom(),
  },
  'replies to clients cut': {
    weight: 5,
    targets: APIS,
    holds: (target) => [`way to ${target}`],
    forMs: [1_000, 6_000],
    begin: (stage, target, random) => wayTo(stage, target).cutReplies(() => random.chance(0.3)),
    end: (stage, target) => wayTo(stage, target).open(),
  },
  'clients cut off': {
    weight: 1,
    targets: APIS,
    holds: (target) => [`way to ${target}`],
    forMs: [500, 4_000],
    begin: (stage, target) => wayTo(stage, target).refuse(),
    end: (stage, target) => wayTo(stage, target).open(),
  },
  'upstream misbehaves': {
    weight: 8,
    targets: Object.entries(UPSTREAM_FAULTS).flatMap(([request, faults]) => faults.map((how) => `${request}: ${how}`)),
    holds: (target) => [`upstream ${target.split(':')[0]}`],
    forMs: [1_000, 8_000],
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
    holds: whole('way to upstream'),
    forMs: [1_000, 6_000],
    begin: ({ proxies }) => proxies.upstream.refuse(),
    end: ({ proxies }) => proxies.upstream.open(),
  },
  'replies of the upstream cut': {
    weight: 3,
    targets: ['upstream'],
    holds: whole('way to upstream'),
    forMs: [1_000, 6_000],
    begin: ({ proxies }, _, random) => proxies.upstream.cutReplies(() => random.chance(0.3)),
    end: ({ proxies }) => proxies.upstream.open(),
  },
  'Stripe misbehaves': {
    weight: 6,
    targets: STRIPE_FAULTS,
    holds: whole('Stripe'),
    forMs: [1_000, 6_000],
    begin: ({ stripe }, target) => {
      stripe.faults.all = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults.all;
    },
  },
  'answers of charges lost': {
    weight: 8,
    targets: ['drop after doing', 'hang after doing'],
    // Not what else is asked of Stripe: a charge that is under way when a month begins loses its answer, too.
    holds: whole('charges'),
    forMs: [6_000, 15_000],
    begin: ({ stripe }, target) => {
      stripe.faults['intents.create'] = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults['intents.create'];
    },
  },
  'refunds fail': {
    // In the last part of a run, so that some are owed when it heals: see schedule.ts.
    weight: 0,
    targets: ['error', 'drop', 'hang'],
    holds: whole('refunds'),
    forMs: [0, 0],
    begin: ({ stripe }, target) => {
      stripe.faults['refunds.create'] = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults['refunds.create'];
    },
  },
  'webhooks held back': {
    weight: 2,
    targets: ['webhooks'],
    holds: whole('webhooks'),
    forMs: [2_000, 10_000],
    begin: ({ stripe }) => {
      stripe.delivery.pause = true;
    },
    end: ({ stripe }) => {
      stripe.delivery.pause = false;
    },
  },
};

function wayTo(stage: Stage, api: string) {
  const proxy = stage.proxies.apis[APIS.indexOf(api)];
  if (proxy === undefined) throw new Error(`There is no process ${api}.`);
  return proxy;
}
