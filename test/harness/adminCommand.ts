import { Writable } from 'node:stream';
import type { ProgramResult } from '../../dev/local/environment/program.ts';
import type { Command } from '../../worker/cli/admin/command.ts';
import { COMMANDS } from '../../worker/cli/admin/commands.ts';
import { runAdminCommand } from '../../worker/cli/admin/runAdminCommand.ts';
import { runBundled } from './builtPrograms.ts';

/** Runs a staff command from the build, as in a deployment. */
export function runAdmin(args: string[], env: Record<string, string> = {}): Promise<ProgramResult> {
  return runBundled('admin', args, { env: { NODE_ENV: 'test', ...env } });
}

/**
 * Runs a staff command in the test's own process, without the half second that a start takes. No service may be open in
 * this process, so that commands run one after the other, and the API under test in a process of its own.
 */
export async function runAdminInProcess(args: string[], env: Record<string, string> = {}): Promise<ProgramResult> {
  const [stdout, stderr] = [new CollectedOutput(), new CollectedOutput()];
  const status = await runAdminCommand({ NODE_ENV: 'test', ...env }, args, { stdout, stderr });
  return { status, out: stdout.text, err: stderr.text };
}

/** Runs a staff command that only reads on the service that is open in this process. @returns what it prints. */
export async function runAdminHere(name: string, ...args: string[]): Promise<string> {
  const [stdout, stderr] = [new CollectedOutput(), new CollectedOutput()];
  const run = await (COMMANDS[name] as Command).load();
  await run({ args, options: {}, shouldApply: false, print: (line) => void stdout.write(`${line}\n`), stdout, stderr });
  return stdout.text;
}

class CollectedOutput extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
