import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { BUNDLE } from './bundle.ts';

/** A process of the service: the build as a bundle, without the Procfile's bounds of memory. */
export interface ServiceProcess {
  child: ChildProcess;
  /** All that it has logged so far; after its end, all. What it logs comes through a pipe: later, maybe, than its answers. */
  logs(): string;
  /** Resolves once it has logged something. */
  logged(text: string | RegExp): Promise<void>;
  /** Ends it as a platform does, and waits. @returns its exit status. */
  stop(): Promise<number | null>;
  /** Ends it as a power cut does, and waits. */
  kill(): Promise<void>;
}

const START_TIMEOUT_MS = 50_000;
const LOG_TIMEOUT_MS = 20_000;

const READY = { api: 'api listening', worker: 'worker ready' } as const;

/** Starts a process and waits until it logs that it is ready. */
export async function startProcess(name: keyof typeof READY, env: Record<string, string>): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [`${BUNDLE}/${name}.js`], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'test', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const news = new EventEmitter().setMaxListeners(0);
  // Not its exit: what it has logged may still be on the way then.
  const exited = once(child, 'close') as Promise<[number | null]>;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      // Nobody else knows of it: it would outlive the tests.
      child.kill('SIGKILL');
      reject(new Error(`${name} was not ready in time:\n${output}`));
    }, START_TIMEOUT_MS);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        news.emit('output');
        if (!output.includes(READY[name])) return;
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
  const logged = async (text: string | RegExp) => {
    const signal = AbortSignal.timeout(LOG_TIMEOUT_MS);
    while (typeof text === 'string' ? !output.includes(text) : !text.test(output)) {
      await once(news, 'output', { signal }).catch(() => {
        throw new Error(`${name} did not log ${text}:\n${output}`);
      });
    }
  };
  return {
    child,
    logs: () => output,
    logged,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}
