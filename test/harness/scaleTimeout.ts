import { measureSlowness } from '../../dev/local/machineSpeed.ts';

/**
 * A bound in wall-clock time as it holds on this machine at this moment: multiplied by how much slower a fixed piece of
 * work is now than on an idle machine. Tests hold the order of events and the service's own clock exactly; what is
 * promised in seconds of a wall clock is measured by chaos and bench, and only bounded here.
 */
export function scaleTimeout(milliseconds: number): number {
  return Math.ceil(milliseconds * measureSlowness());
}
