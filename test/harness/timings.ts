import { readFileSync, writeFileSync } from 'node:fs';
import { median } from '../../dev/local/statistics.ts';
import { toTestName } from './reporter.ts';
import type { RunEvent } from './runEvents.ts';

/** Seconds that each file took when `npm test -- --update-timings` last ran, by name: `contract/apiKeys`. */
const TIMINGS_FILE = 'test/timings.json';

type Timings = Record<string, number>;

/** Files that take longer mostly wait for a time limit, and use little of a processor. */
const LONG_FILE_SECONDS = 60;

/**
 * Sorts files so that the processes are balanced: the longest first, and after each long one half of its share of the
 * shorter ones. The long ones wait and the others compute, so that the processors are in use from the beginning to the
 * end; the other half of the shorter ones fills the time that remains after the last long one. A file without a time
 * counts as the median.
 */
export function sortForParallelRun(files: readonly string[], timings: Timings = readTimings()): string[] {
  const typicalSeconds = median(Object.values(timings)) || 0;
  const getSeconds = (file: string): number => timings[toTestName(file)] ?? typicalSeconds;
  const sumSeconds = (some: readonly string[]): number => some.reduce((sum, file) => sum + getSeconds(file), 0);
  const longestFirst = files.toSorted((one, other) => getSeconds(other) - getSeconds(one) || (one < other ? -1 : 1));
  const isLong = (file: string) => getSeconds(file) >= LONG_FILE_SECONDS;
  const [long, others] = [longestFirst.filter(isLong), longestFirst.filter((file) => !isLong(file))];
  const share = sumSeconds(others) / sumSeconds(long) / 2;
  let [longSeconds, besideSeconds] = [0, 0];
  const sorted: string[] = [];
  for (const file of long) {
    sorted.push(file);
    longSeconds += getSeconds(file);
    while (besideSeconds < share * longSeconds && others.length > 0) {
      const beside = others.shift() as string;
      sorted.push(beside);
      besideSeconds += getSeconds(beside);
    }
  }
  return [...sorted, ...others];
}

/**
 * Records how long the files of a run took, and keeps the times of existing files that did not run, or skipped tests.
 */
export function updateTimings(events: readonly RunEvent[], existing: readonly string[]): void {
  const timings = readTimings();
  const skipped = new Set(events.map((event) => (event.kind === 'skip' ? event.file : undefined)));
  for (const event of events) {
    if (event.kind === 'file' && !skipped.has(event.file))
      timings[toTestName(event.file)] = Math.round(event.ms / 100) / 10;
  }
  const names = new Set(existing.map(toTestName));
  const kept = Object.entries(timings).filter(([name]) => names.has(name));
  kept.sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(TIMINGS_FILE, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}

function readTimings(): Timings {
  try {
    return JSON.parse(readFileSync(TIMINGS_FILE, 'utf8')) as Timings;
  } catch {
    return {};
  }
}
