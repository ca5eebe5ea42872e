import { pbkdf2Sync } from 'node:crypto';

/** The processor time of one sample on the machine that the bounds were chosen on. */
const REFERENCE_MS = 5;
const SAMPLES = 5;

/**
 * A bound in wall-clock time as it holds on this machine at this moment: multiplied by how much slower a fixed piece of
 * work is now than on an idle machine. Tests hold the order of events and the service's own clock exactly; what is
 * promised in seconds of a wall clock is measured by chaos and bench, and only bounded here.
 */
export function scaled(milliseconds: number): number {
  let slowest = REFERENCE_MS;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const startedAt = performance.now();
    pbkdf2Sync('speed', 'salt', 15_000, 32, 'sha256');
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  return milliseconds * Math.max(1, (1.5 * slowest) / REFERENCE_MS);
}
