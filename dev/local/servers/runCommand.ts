import { execFile } from 'node:child_process';
import { getErrorMessage } from './errorDetails.ts';

/** How a short command ran: `ok` when it ended with 0, `problem` in words when it did not. */
export interface CommandResult {
  ok: boolean;
  stdout: string;
  problem: string;
}

/** Runs a short command to its end, never throwing: a missing program is one more way not to succeed. */
export function runCommand(
  file: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number; timeoutMs?: number } = {},
): Promise<CommandResult> {
  const { timeoutMs = 10_000, ...rest } = options;
  return new Promise((resolve) => {
    try {
      // By SIGKILL: what runs away from its time limit may not listen to less.
      const limits = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 } as const;
      execFile(file, args, { ...rest, ...limits, encoding: 'utf8' }, (error, stdout, stderr) => {
        resolve({ ok: error === null, stdout, problem: error === null ? '' : getFirstLine(stderr) || error.message });
      });
    } catch (error) {
      // A folder the other account may not enter throws at once instead of calling back.
      resolve({ ok: false, stdout: '', problem: getErrorMessage(error) });
    }
  });
}

function getFirstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
