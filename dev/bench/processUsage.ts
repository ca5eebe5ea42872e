import { listChildPids, readProcessMemory, readProcessStat } from '../local/procfs.ts';

/** Reads the resident memory of a process; NaN if the system does not report it. */
export function readMemory(pid: number): { 'resident MB': number; 'peak MB': number } {
  const { residentKb, peakKb } = readProcessMemory(pid) ?? { residentKb: Number.NaN, peakKb: Number.NaN };
  return { 'resident MB': residentKb / 1_024, 'peak MB': peakKb / 1_024 };
}

/** Processor time in milliseconds that a process has used so far, its children apart; NaN if it is unknown. */
export function readOwnProcessorMs(pid: number | null): number {
  return (pid === null ? null : readProcessStat(pid))?.ms ?? Number.NaN;
}

/** Processor time in milliseconds that the children of a process have used so far. */
export function readChildrenProcessorMs(pid: number | null): number {
  const own = pid === null ? null : readProcessStat(pid);
  if (pid === null || own === null) return Number.NaN;
  return listChildPids(pid).reduce((sum, child) => sum + (readProcessStat(child)?.ms ?? 0), own.endedChildrenMs);
}

/** Processor time in milliseconds that a process and its children have used so far. */
export function readProcessorMs(pid: number | null): number {
  return readOwnProcessorMs(pid) + readChildrenProcessorMs(pid);
}
