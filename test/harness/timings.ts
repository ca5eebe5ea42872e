import { readFileSync, writeFileSync } from 'node:fs';
import { median } from '../../dev/local/statistics.ts';
import { toTestName } from './reporter.ts';
import type { RunEvent } from './runEvents.ts';

/** Seconds that each file took when `npm test -- --update-timings` last ran, by name: `contract/apiKeys`. */
const TIMINGS_FILE = 'test/timings.json';

type Timings = Record<string, number>;

/** Sorts files so that the longest start first, which balances the processes. A file without a time counts as the median. */
export function sortLongestFirst(files: readonly string[]): string[] {
  const timings = readTimings();
  const typicalSeconds = median(Object.values(timings)) || 0;
  const getSeconds = (file: string): number => timings[toTestName(file)] ?? typicalSeconds;
  return files.toSorted((one, other) => getSeconds(other) - getSeconds(one) || (one < other ? -1 : 1));
}

/** Records how long the files of a run took, and keeps the times of existing files that did not run. */
export function updateTimings(events: readonly RunEvent[], existing: readonly string[]): void {
  const timings = readTimings();
  for (const event of events) {
    if (event.kind === 'file') timings[toTestName(event.file)] = Math.round(event.ms / 100) / 10;
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
