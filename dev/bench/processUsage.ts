import { listChildPids, readProcessMemory, readProcessStat } from '../local/procfs.ts';
import { median } from '../local/statistics.ts';

/** Resident memory of a process in megabytes, current and peak. */
export interface MemoryUsage {
  residentMb: number;
  peakMb: number;
}

/** Reads the memory of a process; null if the system does not report it. */
export function readMemoryUsage(pid: number): MemoryUsage | null {
  const memory = readProcessMemory(pid);
  return memory === null ? null : { residentMb: memory.residentKb / 1_024, peakMb: memory.peakKb / 1_024 };
}

/** Processor time in milliseconds that a process and its children have used so far. */
export function readProcessorMs(pid: number): number | null {
  const own = readProcessStat(pid);
  if (own === null) return null;
  return listChildPids(pid).reduce(
    (sum, child) => sum + (readProcessStat(child)?.ms ?? 0),
    own.ms + own.endedChildrenMs,
  );
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
