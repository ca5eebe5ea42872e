import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BUNDLE } from './bundle.ts';

/** Exit code and output of a command. */
export interface EndedCommand {
  status: number | null;
  out: string;
  err: string;
}

/** Runs a command from the build, as in a deployment. */
export function runAdmin(args: string[], env: Record<string, string> = {}): Promise<EndedCommand> {
  return runCommand(process.execPath, [`${BUNDLE}/admin.js`, ...args], { NODE_ENV: 'test', ...env });
}

export async function runCommand(
  program: string,
  args: string[],
  env: Record<string, string> = {},
  cwd = '.',
): Promise<EndedCommand> {
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], ...env }, cwd });
  const ended: EndedCommand = { status: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (ended.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (ended.err += chunk.toString()));
  [ended.status] = (await once(child, 'close')) as [number | null];
  return ended;
}
