import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readProcessCommandLine, terminateProcess, isAlive } from '../servers/processes.ts';

/** Identifies a process as one of our programs: see programWrapper.ts. */
const WRAPPER_MARKER = 'stack/programWrapper.ts';

/** Records the process ids of running programs in the data folder, for the start after a kill. */
export interface PidFile {
  add(name: string, pid: number): void;
  /** Everything has ended: the next start has nothing to clean up. */
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
 * Ends the programs of a killed launcher. They exit by themselves within moments; this waits for that, and kills those
 * that hang. Call it only while holding the claim on the data folder.
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
    // The file is missing or incomplete: the programs detect the loss of their launcher themselves.
    return [];
  }
}

function getPidFilePath(dataDir: string): string {
  return join(dataDir, 'processes.json');
}
