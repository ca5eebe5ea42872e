import { setTimeout as delay } from 'node:timers/promises';
import { DAY_MS } from '../../../shared/spec/durations.ts';
import type { ChaosEnvironment } from '../environment.ts';
import type { ManagedProcess } from '../managedProcess.ts';
import { PROCESSES, type Faults } from './fault.ts';

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

const lockTarget = (target: string) => [target];

/** Faults of the service's processes, and of the time that they read. */
export const PROCESS_FAULTS: Faults = {
  'process killed': {
    weight: 10,
    targets: PROCESSES,
    locks: lockTarget,
    durationMs: [500, 500],
    begin: (environment, target) => getProcess(environment, target).kill(),
  },
  'process paused': {
    weight: 6,
    targets: PROCESSES,
    locks: lockTarget,
    // Longer than a worker's lease, so that another worker takes its generations over before it comes back.
    durationMs: [1_000, 12_000],
    begin: (environment, target) => getProcess(environment, target).pause(),
    end: (environment, target) => getProcess(environment, target).resume(),
  },
  'clock jumps': {
    weight: 3,
    targets: PROCESSES,
    locks: lockTarget,
    durationMs: [3_000, 10_000],
    begin: (environment, target, random) => {
      environment.clocks.disturb();
      const jumpMs = Math.round((2 * random.next() - 1) * CLOCK_JUMP_MS);
      void getProcess(environment, target).setClock(environment.advancedMs() + jumpMs);
    },
    end: (environment, target) =>
      environment.clocks.correct(getProcess(environment, target).setClock(environment.advancedMs())),
  },
  'day change': {
    weight: 0,
    targets: ['10 s before midnight'],
    locks: () => [...PROCESSES, 'Stripe', 'webhooks'],
    durationMs: [0, 0],
    begin: (environment, target) => {
      environment.stripe.delivery.sendDropped();
      environment.advanceTime(getTimeUntil(target, environment.now()));
    },
  },
  'month change': {
    weight: 0,
    targets: ['17 s before midnight', 'noon'],
    // No process may be paused, use another clock, or miss webhooks meanwhile.
    locks: () => [...PROCESSES, 'Stripe', 'webhooks'],
    durationMs: [0, 0],
    begin: async (environment, target) => {
      // Stripe would retry for days, and be asked for events that never arrived.
      environment.stripe.delivery.sendDropped();
      environment.advanceTime(MONTH_MS + getTimeUntil(target, environment.now()));
      // Creates come before the renewal, which the schedule may run half a minute later.
      await delay(RENEWAL_DELAY_MS);
      // Concurrent renewals meet each other.
      await environment.enqueueDuplicateJobs(6, 'creditPeriods.renew');
    },
  },
  rush: {
    // At the end of a month, which is when the schedule plans it: see ../schedule.ts.
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
};

/** Returns the milliseconds until a time of the day, which is a name of `TIMES_OF_DAY`. */
function getTimeUntil(name: string, now: Date): number {
  const at = DAY_MS - (TIMES_OF_DAY[name] ?? 0);
  return (at - (now.getTime() % DAY_MS) + DAY_MS) % DAY_MS;
}

function getProcess(environment: ChaosEnvironment, name: string): ManagedProcess {
  const managedProcess = environment.processes.get(name);
  if (managedProcess === undefined) throw new Error(`There is no process ${name}.`);
  return managedProcess;
}
