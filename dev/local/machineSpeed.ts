import { pbkdf2Sync } from 'node:crypto';

/** The processor time of one sample on the machine that the bounds were chosen on. */
const REFERENCE_MS = 5;
const MARGIN = 1.5;

/**
 * Measures how many times slower than the reference machine, when idle, this machine is at this moment, with a margin
 * of a half: the slowest of some samples of a fixed piece of work. At least 1.
 */
export function measureSlowness(samples = 5): number {
  let slowest = REFERENCE_MS / MARGIN;
  for (let sample = 0; sample < samples; sample += 1) {
    const startedAt = performance.now();
    pbkdf2Sync('speed', 'salt', 15_000, 32, 'sha256');
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  return (MARGIN * slowest) / REFERENCE_MS;
}
