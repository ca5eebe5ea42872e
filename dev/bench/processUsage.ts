import { readdirSync, readFileSync } from 'node:fs';
import { median } from './statistics.ts';

/** Memory of a process, on systems that report it (Linux); null elsewhere. */

export interface ProcessMemory {
  residentMb: number;
  peakMb: number;
}

/** Resident memory of a process, current and peak. */
export function readProcessMemory(pid: number): ProcessMemory | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024;
    return { residentMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
  } catch {
    return null;
  }
}

/** Processor time in milliseconds that a process and its children have used so far. */
export function readProcessorMs(pid: number): number | null {
  const own = readProcStat(pid);
  if (own === null) return null;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcStat(Number(name)))
    .filter((stat) => stat?.parent === pid);
  return children.reduce((sum, stat) => sum + (stat?.ms ?? 0), own.ms + own.endedChildrenMs);
}

/** The kernel counts in hundredths of a second, independent of its own tick. */
const TICK_MS = 10;

function readProcStat(pid: number): { parent: number; ms: number; endedChildrenMs: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Parsed from behind the name, which may contain spaces and brackets.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const at = (field: number) => fields[field - 3] ?? 0;
    return { parent: at(4), ms: TICK_MS * (at(14) + at(15)), endedChildrenMs: TICK_MS * (at(16) + at(17)) };
  } catch {
    return null;
  }
}

/** Runs work, and reports the microseconds of processor time that each process spent per item. */
export async function withProcessorTime<Result>(
  processes: Record<string, number | null>,
  work: () => Promise<Result>,
  countItems: (result: Result) => number,
): Promise<{ result: Result; microseconds: Record<string, number> }> {
  const sample = () =>
    Object.entries(processes).map(([name, pid]) => [name, pid === null ? null : readProcessorMs(pid)] as const);
  const before = new Map(sample());
  const result = await work();
  const microseconds: Record<string, number> = {};
  for (const [name, after] of sample()) {
    const start = before.get(name);
    if (after === null || start === null || start === undefined) continue;
    microseconds[`${name} µs`] = (1_000 * (after - start)) / countItems(result);
  }
  return { result, microseconds };
}

/** Median of the rounds for each process. */
export function medianMicroseconds(
  rounds: readonly { microseconds: Record<string, number> }[],
): Record<string, number> {
  const names = Object.keys(rounds[0]?.microseconds ?? {});
  const of = (name: string) => median(rounds.map(({ microseconds }) => microseconds[name] as number));
  return Object.fromEntries(names.map((name) => [name, of(name)]));
}
