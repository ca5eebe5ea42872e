import { measureSlowness } from '../local/machineSpeed.ts';

const SAMPLE_INTERVAL_MS = 1_000;

/** Measurements of the machine's speed during a run. */
export interface SpeedWatch {
  /** Average slowdown of the machine between two times of `Date.now`; 1 is an idle reference machine. */
  slownessBetween(from: number, to: number): number;
  stop(): void;
}

/** Measures the machine's speed every second, since guarantees in wall-clock time assume an unloaded machine. */
export function watchMachineSpeed(): SpeedWatch {
  const samples: { at: number; slowness: number }[] = [];
  const sample = () => void samples.push({ slowness: measureSlowness(1), at: Date.now() });
  sample();
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS);
  return {
    slownessBetween: (from, to) => {
      const meanwhile = samples.filter(
        ({ at }) => at >= from - 2 * SAMPLE_INTERVAL_MS && at <= to + 2 * SAMPLE_INTERVAL_MS,
      );
      return meanwhile.reduce((sum, { slowness }) => sum + slowness, 0) / Math.max(1, meanwhile.length) || 1;
    },
    stop: () => clearInterval(timer),
  };
}
