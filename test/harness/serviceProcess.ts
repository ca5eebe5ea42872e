import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { BUNDLE } from './bundle.ts';
import { recordLog } from './testLogs.ts';

/** An API server or a worker, in a process of its own or in the test's. */
export interface ServiceHandle {
  /**
   * All of its log so far; after its end, the complete log. Lines arrive through a pipe, possibly later than responses.
   */
  logs(): string;
  /** Resolves once it has logged a text. */
  waitForLog(text: string | RegExp): Promise<void>;
  /** Stops it as a platform does, and waits. @returns its exit status. */
  stop(): Promise<number | null>;
  /** Kills it as a power cut would, and waits. In the test's own process it can only be closed. */
  kill(): Promise<void>;
}

/** A process of the service: the bundled program, without the memory limits of the Procfile. */
export interface ServiceProcess extends ServiceHandle {
  child: ChildProcess;
  /** Sets its clock this many milliseconds ahead. Resolves when the process uses it. */
  moveClock(offsetMs: number): Promise<void>;
}

const START_TIMEOUT_MS = 50_000;
const LOG_TIMEOUT_MS = 20_000;

/** Allows moving the clock of a process while it runs. */
const PROCESS_CLOCK = new URL('../../dev/local/processClock.mjs', import.meta.url).href;

const READY_MESSAGE = { api: 'api listening', worker: 'worker ready' } as const;

/** Starts a process and waits until it logs that it is ready. */
export async function startServiceProcess(
  name: keyof typeof READY_MESSAGE,
  env: Record<string, string>,
  clockOffsetMs = 0,
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, ['--import', PROCESS_CLOCK, `${BUNDLE}/${name}.js`], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'test', ...env, PROCESS_CLOCK_OFFSET_MS: String(clockOffsetMs) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.channel?.unref();
  let output = '';
  const outputEvents = new EventEmitter().setMaxListeners(0);
  // Not `exit`: logged lines may still be in the pipe then.
  const exited = once(child, 'close') as Promise<[number | null]>;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      // No other code has a reference to it: it would outlive the tests.
      child.kill('SIGKILL');
      reject(new Error(`${name} was not ready in time:\n${output}`));
    }, START_TIMEOUT_MS);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        recordLog(chunk.toString());
        outputEvents.emit('output');
        if (!output.includes(READY_MESSAGE[name])) return;
        clearTimeout(timer);
        resolve();
      });
    }
    child.once('close', (status) => {
      clearTimeout(timer);
      reject(new Error(`${name} ended with ${status}:\n${output}`));
    });
  });
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const [status] = await exited;
    return status;
  };
  const waitForLog = async (text: string | RegExp) => {
    const signal = AbortSignal.timeout(LOG_TIMEOUT_MS);
    while (typeof text === 'string' ? !output.includes(text) : !text.test(output)) {
      await once(outputEvents, 'output', { signal }).catch(() => {
        throw new Error(`${name} did not log ${text}:\n${output}`);
      });
    }
  };
  const moveClock = async (offsetMs: number) => {
    const moved = once(child, 'message');
    child.send(offsetMs);
    await Promise.race([moved, exited]);
  };
  return {
    child,
    moveClock,
    logs: () => output,
    waitForLog,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}
