import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, endProcess, isAlive } from '../servers/processes.ts';

/** What marks a process as a program of ours: see child.ts. */
const MARK = 'stack/child.ts';

/** Keeps, in the data folder, the process ids of the programs that run, for the start after a kill. */
export interface ProcessRecord {
  note(name: string, pid: number): void;
  /** Everything has ended: nothing to look for next time. */
  clear(): void;
}

export function openProcessRecord(dataDir: string): ProcessRecord {
  const file = recordFile(dataDir);
  const pids: Record<string, number> = {};
  return {
    note: (name, pid) => {
      pids[name] = pid;
      writeFileSync(file, `${JSON.stringify(pids)}\n`);
    },
    clear: () => rmSync(file, { force: true }),
  };
}

/**
 * Ends the programs that a killed launcher left behind. They end by themselves within moments; this waits for that, and
 * sees to those that hang. To be called with the claim on the data folder.
 */
export async function endLeftovers(dataDir: string): Promise<void> {
  const isOurs = (pid: number): boolean => {
    const command = commandLine(pid);
    return command.includes(MARK) && command.includes(` ${dataDir} `);
  };
  const left = readRecord(dataDir).filter((pid) => isAlive(pid) && isOurs(pid));
  await Promise.all(
    left.map((pid) =>
      endProcess(pid, () => isOurs(pid), [
        ['SIGTERM', 6_000],
        ['SIGKILL', 3_000],
      ]),
    ),
  );
}

function readRecord(dataDir: string): number[] {
  try {
    const pids: Record<string, number> = JSON.parse(readFileSync(recordFile(dataDir), 'utf8'));
    return Object.values(pids).filter((pid) => Number.isInteger(pid) && pid > 1);
  } catch {
    // There is none, or a kill left half of one: then the programs have seen for themselves that they are alone.
    return [];
  }
}

function recordFile(dataDir: string): string {
  return join(dataDir, 'processes.json');
}
