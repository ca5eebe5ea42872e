import { readFileSync, writeFileSync } from 'node:fs';
import { nameOfFile } from './reporter.ts';
import type { RunEvent } from './runEvents.ts';

/** Seconds that each file took when `npm test -- --update-timings` last ran, by name: `contract/keys`. */
const FILE = 'test/timings.json';

type Timings = Record<string, number>;

/** Sorts files so that the longest start first, which balances the processes. A file without a time counts as the median. */
export function longestFirst(files: readonly string[]): string[] {
  const timings = readTimings();
  const known = Object.values(timings).sort((one, other) => one - other);
  const median = known[Math.floor(known.length / 2)] ?? 0;
  const secondsOf = (file: string): number => timings[nameOfFile(file)] ?? median;
  return files.toSorted((one, other) => secondsOf(other) - secondsOf(one) || (one < other ? -1 : 1));
}

/** Writes down how long the files of a run took, and keeps the times of files that exist and did not run. */
export function updateTimings(events: readonly RunEvent[], existing: readonly string[]): void {
  const timings = readTimings();
  for (const event of events) {
    if (event.kind === 'file') timings[nameOfFile(event.file)] = Math.round(event.ms / 100) / 10;
  }
  const names = new Set(existing.map(nameOfFile));
  const kept = Object.entries(timings).filter(([name]) => names.has(name));
  kept.sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}

function readTimings(): Timings {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Timings;
  } catch {
    return {};
  }
}
