import { readdirSync, readFileSync } from 'node:fs';

/** Memory of a process. */
export interface ProcessMemory {
  residentKb: number;
  peakKb: number;
  /** Part of `residentKb` that maps files, such as Node itself, which the processes of a container share. */
  fileKb: number;
}

/**
 * Reads the resident memory of a process, current and peak; null if the process has ended, or the system does not
 * report it (Linux does).
 */
export function readProcessMemory(pid: number): ProcessMemory | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
    const memory = { residentKb: kilobytes('VmRSS'), peakKb: kilobytes('VmHWM'), fileKb: kilobytes('RssFile') };
    // A process that has ended has no memory, and is listed until its parent collects its status.
    return Number.isNaN(memory.residentKb) ? null : memory;
  } catch {
    return null;
  }
}

export interface ProcessStat {
  parent: number;
  /** Processor time so far. */
  ms: number;
  endedChildrenMs: number;
}

/** The kernel counts in hundredths of a second, independent of its own tick. */
const TICK_MS = 10;

/** Reads parent and processor time of a process; null if the system does not report them. */
export function readProcessStat(pid: number): ProcessStat | null {
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

/** Lists the children of a process; empty if the system does not report them. */
export function listChildPids(parent: number): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => readProcessStat(pid)?.parent === parent);
  } catch {
    return [];
  }
}
