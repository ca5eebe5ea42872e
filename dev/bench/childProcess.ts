import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A child process of the bench, which executes calls and returns their results. */
export interface BenchChild {
  pid: number;
  /** Rejects with the child's own error, or if the child exits before it responds. */
  call<Result>(method: string, ...args: unknown[]): Promise<Result>;
  end(): Promise<void>;
}

interface ChildReply {
  id: number;
  result?: unknown;
  error?: string;
}

/** Starts a module of the bench as a process of its own; the module responds through {@link serveParent}. */
export async function startBenchChild(module: URL, env: NodeJS.ProcessEnv): Promise<BenchChild> {
  const child = fork(module, [], {
    env,
    execArgv: ['--import', import.meta.resolve('tsx')],
    serialization: 'advanced',
  });
  const exited = once(child, 'exit');
  const waiting = new Map<number, (response: ChildReply) => void>();
  let callCount = 0;
  let isEnding = false;
  const ready = Promise.race([
    once(child, 'message'),
    exited.then(() => Promise.reject(new Error(`${module.pathname} exited during startup`))),
  ]);
  child.on('message', (response: ChildReply) => {
    waiting.get(response.id)?.(response);
    waiting.delete(response.id);
  });
  child.on('exit', () => {
    for (const [id, settle] of waiting) settle({ id, error: `${module.pathname} ended` });
  });
  await ready;

  function call<Result>(method: string, ...args: unknown[]): Promise<Result> {
    return new Promise((resolve, reject) => {
      callCount += 1;
      waiting.set(callCount, ({ result, error }) => {
        if (error === undefined) resolve(result as Result);
        else reject(new Error(error));
      });
      child.send({ id: callCount, method, args });
    });
  }

  async function end(): Promise<void> {
    if (!isEnding && child.exitCode === null && child.signalCode === null) child.disconnect();
    isEnding = true;
    await exited;
  }
  return { pid: child.pid as number, call, end };
}

type ChildHandlers = Record<string, (...args: never[]) => unknown>;

/** Serves the parent's calls in the child by calling the function of that name. Exits with the parent. */
export function serveParent(handlers: ChildHandlers): void {
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C reaches the whole process group; the parent controls the order of the shutdown.
  process.on('SIGINT', () => {});
  process.on('message', (message: { id: number; method: string; args: never[] }) => {
    const { id, method, args } = message;
    Promise.resolve()
      .then(() => handlers[method]!(...args))
      .then(
        (result) => process.send?.({ id, result }),
        (error: unknown) => process.send?.({ id, error: (error as Error).stack ?? String(error) }),
      );
  });
  process.send?.({ id: 0 });
}
