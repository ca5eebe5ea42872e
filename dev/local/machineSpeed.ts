import { pbkdf2Sync } from 'node:crypto';

/** Processor time of one sample on the reference machine. */
const REFERENCE_MS = 5;
const MARGIN = 1.5;

/**
 * Measures how many times slower this machine is at the moment than an idle reference machine, with a margin of a half:
 * the slowest of some samples of a fixed piece of work. At least 1.
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
