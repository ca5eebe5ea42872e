import { buildSourceArgs, startProgram } from '../local/environment/program.ts';

/** A process whose resources are measured. */
export interface BenchProcess {
  pid: number;
  /** Ends it and waits. */
  end(): Promise<void>;
}

/** A child process of the bench, which executes calls and returns their results. */
export interface BenchChild extends BenchProcess {
  /** Rejects with the child's own error, or if the child exits before it responds. */
  call<Result>(method: string, ...args: unknown[]): Promise<Result>;
}

interface ChildReply {
  id: number;
  result?: unknown;
  error?: string;
}

/**
 * Starts a module of the bench as a process of its own; the module responds through {@link serveParent}.
 * @param module path of its file.
 */
export async function startBenchChild(module: string, env: NodeJS.ProcessEnv): Promise<BenchChild> {
  const args = buildSourceArgs(module);
  const program = startProgram({ name: module, args, env, output: 'inherit', hasChannel: true });
  const { child } = program;
  const waiting = new Map<number, (response: ChildReply) => void>();
  let callCount = 0;
  child.on('message', (response: ChildReply) => {
    waiting.get(response.id)?.(response);
    waiting.delete(response.id);
  });
  child.once('close', () => {
    for (const [id, settle] of waiting) settle({ id, error: `${module} ended` });
  });
  await waitForReply(0);

  function waitForReply<Result>(id: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      waiting.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result as Result);
        else reject(new Error(error));
      });
    });
  }

  function call<Result>(method: string, ...args: unknown[]): Promise<Result> {
    callCount += 1;
    const id = callCount;
    const reply = waitForReply<Result>(id);
    child.send({ id, method, args }, (error) => {
      if (error !== null) waiting.get(id)?.({ id, error: error.message });
    });
    return reply;
  }

  return { pid: program.pid, call, end: async () => void (await program.stop()) };
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
