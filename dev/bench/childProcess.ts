import { buildSourceArgs, startProgram } from '../local/environment/program.ts';

/** A process whose resources are measured. */
export interface BenchProcess {
  pid: number;
  /** Ends it and waits. */
  end(): Promise<unknown>;
}

/** A process that runs a module of the bench, whose functions can be called. */
export type BenchChild<Handlers> = BenchProcess & {
  /** Rejects with the child's own error, or if the child exits before it responds. */
  [Name in keyof Handlers]: Handlers[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

interface ChildReply {
  id: number;
  result?: unknown;
  error?: string;
}

/**
 * Starts a module of the bench as a process of its own; the module responds through {@link serveParent}.
 * @param module path of its file.
 */
export async function startBenchChild<Handlers>(module: string, env: NodeJS.ProcessEnv): Promise<BenchChild<Handlers>> {
  const args = buildSourceArgs(module);
  const program = startProgram({ name: module, args, env, output: 'inherit', hasChannel: true });
  const { child } = program;
  const waiting = new Map<number, (reply: ChildReply) => void>();
  let callCount = 0;
  child.on('message', (reply: ChildReply) => {
    waiting.get(reply.id)?.(reply);
    waiting.delete(reply.id);
  });
  child.once('close', () => {
    for (const [id, settle] of waiting) settle({ id, error: `${module} ended` });
  });

  const waitForReply = (id: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting.set(id, ({ result, error }) => (error === undefined ? resolve(result) : reject(new Error(error))));
    });

  function call(method: string, args: unknown[]): Promise<unknown> {
    callCount += 1;
    const id = callCount;
    const reply = waitForReply(id);
    child.send({ id, method, args }, (error) => {
      if (error !== null) waiting.get(id)?.({ id, error: error.message });
    });
    return reply;
  }

  const names = (await waitForReply(0)) as string[];
  const methods = names.map((name) => [name, (...values: unknown[]) => call(name, values)]);
  const own: BenchProcess = { pid: program.pid, end: () => program.stop() };
  return { ...Object.fromEntries(methods), ...own } as BenchChild<Handlers>;
}

/** Serves the parent's calls in the child by calling the function of that name. Exits with the parent. */
export function serveParent(handlers: Record<string, (...args: never[]) => unknown>): void {
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C reaches the whole process group; the parent controls the order of the shutdown.
  process.on('SIGINT', () => {});
  process.on('message', ({ id, method, args }: { id: number; method: string; args: never[] }) => {
    Promise.resolve()
      .then(() => handlers[method]!(...args))
      .then(
        (result) => process.send?.({ id, result }),
        (error: unknown) => process.send?.({ id, error: (error as Error).stack ?? String(error) }),
      );
  });
  process.send?.({ id: 0, result: Object.keys(handlers) });
}
