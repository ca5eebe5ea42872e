import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readProcessCommandLine, terminateProcess, isAlive } from '../servers/processes.ts';

/** What marks a process as a program of ours: see programWrapper.ts. */
const WRAPPER_MARKER = 'stack/programWrapper.ts';

/** Keeps, in the data folder, the process ids of the programs that run, for the start after a kill. */
export interface PidFile {
  add(name: string, pid: number): void;
  /** Everything has ended: nothing to look for next time. */
  clear(): void;
}

export function openPidFile(dataDir: string): PidFile {
  const file = getPidFilePath(dataDir);
  const pids: Record<string, number> = {};
  return {
    add: (name, pid) => {
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
export async function terminateOrphanedPrograms(dataDir: string): Promise<void> {
  const isOurs = (pid: number): boolean => {
    const command = readProcessCommandLine(pid);
    return command.includes(WRAPPER_MARKER) && command.includes(` ${dataDir} `);
  };
  const left = readPids(dataDir).filter((pid) => isAlive(pid) && isOurs(pid));
  await Promise.all(
    left.map((pid) =>
      terminateProcess(pid, () => isOurs(pid), [
        ['SIGTERM', 6_000],
        ['SIGKILL', 3_000],
      ]),
    ),
  );
}

function readPids(dataDir: string): number[] {
  try {
    const pids: Record<string, number> = JSON.parse(readFileSync(getPidFilePath(dataDir), 'utf8'));
    return Object.values(pids).filter((pid) => Number.isInteger(pid) && pid > 1);
  } catch {
    // There is none, or a kill left half of one: then the programs have seen for themselves that they are alone.
    return [];
  }
}

function getPidFilePath(dataDir: string): string {
  return join(dataDir, 'processes.json');
}
