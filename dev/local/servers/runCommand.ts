import { execFile } from 'node:child_process';
import { getErrorMessage } from './errorDetails.ts';

/** Result of a short command: `ok` if it exited with 0, otherwise `problem` with a description. */
export interface CommandResult {
  ok: boolean;
  stdout: string;
  problem: string;
}

/** Runs a short command to its end. Never throws: a missing program is an ordinary failure. */
export function runCommand(
  file: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number; timeoutMs?: number } = {},
): Promise<CommandResult> {
  const { timeoutMs = 10_000, ...rest } = options;
  return new Promise((resolve) => {
    try {
      // SIGKILL, since a command that exceeds its time limit may ignore other signals.
      const limits = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 } as const;
      execFile(file, args, { ...rest, ...limits, encoding: 'utf8' }, (error, stdout, stderr) => {
        resolve({ ok: error === null, stdout, problem: error === null ? '' : getFirstLine(stderr) || error.message });
      });
    } catch (error) {
      // A folder that the other account may not enter throws at once instead of calling back.
      resolve({ ok: false, stdout: '', problem: getErrorMessage(error) });
    }
  });
}

function getFirstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
