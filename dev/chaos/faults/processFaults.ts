import type { ChaosEnvironment } from '../environment.ts';
import type { ManagedProcess } from '../managedProcess.ts';
import { PROCESSES, type Faults } from './fault.ts';

const MONTH_MS = 31 * 24 * 60 * 60 * 1_000;
/** The size of a jump of a corrected clock, or after a machine paused. Leases shift by as much. */
const CLOCK_JUMP_MS = 60_000;

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

function getProcess(environment: ChaosEnvironment, name: string): ManagedProcess {
  const managedProcess = environment.processes.get(name);
  if (managedProcess === undefined) throw new Error(`There is no process ${name}.`);
  return managedProcess;
}
