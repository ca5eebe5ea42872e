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

/** Processor time in milliseconds that a process has used so far, its children apart. */
export function readOwnProcessorMs(pid: number): number | null {
  return readProcessStat(pid)?.ms ?? null;
}

/** Processor time in milliseconds that the children of a process have used so far. */
export function readChildrenProcessorMs(pid: number): number | null {
  const total = readProcessorMs(pid);
  const own = readOwnProcessorMs(pid);
  return total === null || own === null ? null : total - own;
}

/** A process with its children, by its id, or a function that reads its processor time in milliseconds. */
export type MeasuredProcess = number | null | (() => number | null);

/** Runs work, and reports the microseconds of processor time that each process spent per item. */
export async function withProcessorTime<Result>(
  processes: Record<string, MeasuredProcess>,
  work: () => Promise<Result>,
  countItems: (result: Result) => number,
): Promise<{ result: Result; microseconds: Record<string, number> }> {
  const read = (process: MeasuredProcess) => {
    if (typeof process === 'function') return process();
    return process === null ? null : readProcessorMs(process);
  };
  const sample = () => Object.entries(processes).map(([name, process]) => [name, read(process)] as const);
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
