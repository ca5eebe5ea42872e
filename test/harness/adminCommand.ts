import type { ProgramResult } from '../../dev/local/environment/program.ts';
import { runBundled } from './builtPrograms.ts';

/** Runs a staff command from the build, as in a deployment. */
export function runAdmin(args: string[], env: Record<string, string> = {}): Promise<ProgramResult> {
  return runBundled('admin', args, { env: { NODE_ENV: 'test', ...env } });
}
