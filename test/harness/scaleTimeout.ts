import { measureSlowness } from '../../dev/local/machineSpeed.ts';

/** Samples to take, together about 100 ms: a shorter measurement often sees a moment without the other test files. */
const SAMPLES = 20;

/**
 * Scales a bound in wall-clock time to this machine at this moment, by how much slower a fixed piece of work is than on
 * an idle machine. Tests check the order of events and the service's own clock exactly; chaos and bench measure
 * guarantees in wall-clock seconds, which are only bounded here.
 */
export function scaleTimeout(milliseconds: number): number {
  return Math.ceil(milliseconds * measureSlowness(SAMPLES));
}
