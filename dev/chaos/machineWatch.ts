import { measureSlowness } from '../local/machineSpeed.ts';

const SAMPLE_INTERVAL_MS = 1_000;
const STALL_CHECK_INTERVAL_MS = 200;
const MIN_STALL_MS = 1_000;

/** A period in which this process, and all traffic through it, stood still, between two times of `Date.now`. */
export interface Stall {
  from: number;
  to: number;
}

/** Measurements of the machine's speed during a run: guarantees in wall-clock time assume an unloaded machine. */
export interface SpeedWatch {
  /** Average slowdown of the machine between two times of `Date.now`; 1 is an idle reference machine. */
  slownessBetween(from: number, to: number): number;
}

/** Measures the machine's speed every second, and records when this process is not scheduled. */
export function watchMachine(): SpeedWatch & { stalls: Stall[]; stop(): void } {
  const samples: { at: number; slowness: number }[] = [];
  const sample = () => void samples.push({ slowness: measureSlowness(1), at: Date.now() });
  sample();
  const stalls: Stall[] = [];
  let last = Date.now();
  const timers = [
    setInterval(sample, SAMPLE_INTERVAL_MS),
    setInterval(() => {
      const now = Date.now();
      if (now - last > MIN_STALL_MS) stalls.push({ from: last, to: now });
      last = now;
    }, STALL_CHECK_INTERVAL_MS),
  ];
  return {
    stalls,
    slownessBetween: (from, to) => {
      const [earliest, latest] = [from - 2 * SAMPLE_INTERVAL_MS, to + 2 * SAMPLE_INTERVAL_MS];
      const meanwhile = samples.filter(({ at }) => at >= earliest && at <= latest);
      return meanwhile.reduce((sum, { slowness }) => sum + slowness, 0) / Math.max(1, meanwhile.length) || 1;
    },
    stop: () => timers.forEach(clearInterval),
  };
}
