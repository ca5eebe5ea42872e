import { type Program, startProgram } from '../../dev/local/environment/program.ts';
import { findProgram } from './builtPrograms.ts';
import { recordLog } from './testLogs.ts';

/** An API server or a worker, in a process of its own or in the test's, where `kill` can only close it. */
export type ServiceHandle = Pick<Program, 'logs' | 'waitForLog' | 'stop' | 'kill'>;

const READY_MESSAGE = { api: 'api listening', worker: 'worker ready' } as const;

/**
 * Starts the built program, without the memory limits of the Procfile and with a movable clock, and waits until it
 * logs that it is ready.
 * @param flags of Node.
 */
export async function startServiceProcess(
  name: keyof typeof READY_MESSAGE,
  env: Record<string, string>,
  clockOffsetMs = 0,
  flags: readonly string[] = [],
): Promise<Program> {
  const program = startProgram({
    name,
    args: [...flags, findProgram(name)],
    env: { NODE_ENV: 'test', ...env },
    clockOffsetMs,
    onOutput: recordLog,
  });
  await program.waitUntilReady(READY_MESSAGE[name]);
  return program;
}
