import { measureSlowness } from '../../dev/local/machineSpeed.ts';

/** Some 100 ms: with several test files per processor, a shorter measurement often sees an undisturbed moment. */
const SAMPLES = 20;

/**
 * Scales a bound in wall-clock time to this machine at this moment, by how much slower a fixed piece of work is than on
 * an idle machine. Tests check the order of events and the service's own clock exactly; chaos and bench measure
 * guarantees in wall-clock seconds, which are only bounded here.
 */
export function scaleTimeout(milliseconds: number): number {
  return Math.ceil(milliseconds * measureSlowness(SAMPLES));
}
