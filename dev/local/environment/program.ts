import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { CollectedLog } from './collectedLog.ts';

const READY_TIMEOUT_MS = 50_000;

/** Preloaded into a program to move its clock while it runs. */
const PROCESS_CLOCK = new URL('processClock.mjs', import.meta.url).href;

export interface ProgramOptions {
  /** Name for errors. */
  name: string;
  /** Flags of node, the main file and its arguments. */
  args: readonly string[];
  /** Runs another program instead of node. */
  file?: string;
  /** Its variables. It inherits only the path of this process. */
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /**
   * Destination of its output: collected for `logs` (default), appended to a file, written to the output of this
   * process, or read by the caller from `child`.
   */
  output?: 'collect' | 'inherit' | 'pipe' | { file: string };
  /** Receives the output while it is collected. */
  onOutput?: (text: string) => void;
  /** Initial offset of its clock, which `moveClock` can then change. */
  clockOffsetMs?: number;
  /** Opens a message channel to it. */
  hasChannel?: boolean;
  /** Runs it in a process group of its own, which Ctrl-C does not reach, with an open stdin. */
  isDetached?: boolean;
  usesShell?: boolean;
}

export interface ProgramEnd {
  status: number | null;
  signal: NodeJS.Signals | null;
  /** The reason if it could not be started. */
  error?: Error;
}

/** A process that this process has started. */
export class Program {
  readonly name: string;
  readonly child: ChildProcess;
  /** Resolves when it has ended and all of its output has arrived. Never rejects. */
  readonly ended: Promise<ProgramEnd>;
  readonly #log: CollectedLog;
  readonly #logFile: string | undefined;

  constructor(child: ChildProcess, { name, output = 'collect', onOutput }: ProgramOptions) {
    this.name = name;
    this.child = child;
    this.#log = new CollectedLog(onOutput);
    this.ended = new Promise((resolve) => {
      child.once('close', (status, signal) => resolve({ status, signal }));
      child.on('error', (error) => {
        if (child.pid === undefined) resolve({ status: null, signal: null, error });
      });
    });
    child.stdin?.on('error', () => {});
    this.#logFile = typeof output === 'object' ? output.file : undefined;
    if (output !== 'collect') return;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => this.#log.write(chunk.toString()));
    }
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get isRunning(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /**
   * Returns all of its output so far; after its end, the complete output. Lines arrive through a pipe, possibly later
   * than responses.
   */
  logs(): string {
    return this.#logFile === undefined ? this.#log.text : readFileSync(this.#logFile, 'utf8');
  }

  /**
   * Resolves once it has logged a text.
   * @throws Error with its log if it ends before that, or after the time limit.
   */
  async waitForLog(text: string | RegExp, timeoutMs?: number): Promise<void> {
    const logged = this.#log.waitFor(text, timeoutMs);
    const ended = this.ended.then(({ status, signal, error }) => {
      if (this.#log.includes(text)) return;
      throw new Error(`${this.name} exited with ${error?.message ?? signal ?? status}:\n${this.#log.text}`);
    });
    await Promise.race([logged, ended]);
  }

  /** Resolves once it has logged that it is ready. Kills it if that fails, since the caller has no reference to it. */
  async waitUntilReady(text: string): Promise<void> {
    try {
      await this.waitForLog(text, READY_TIMEOUT_MS);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** Sends a signal, if it still runs. */
  signal(name: NodeJS.Signals): void {
    if (this.isRunning) this.child.kill(name);
  }

  /** Stops it as a platform does, and kills it after a time limit if there is one. @returns its exit status. */
  async stop(killAfterMs?: number): Promise<number | null> {
    this.signal('SIGTERM');
    const timer = killAfterMs === undefined ? undefined : setTimeout(() => this.signal('SIGKILL'), killAfterMs);
    const { status } = await this.ended;
    clearTimeout(timer);
    return status;
  }

  /** Kills it, as a power cut would. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  /** Sets its clock this many milliseconds ahead. Resolves when the program uses it, or has ended. */
  async moveClock(offsetMs: number): Promise<void> {
    if (!this.child.connected) return;
    const moved = new Promise<void>((resolve) => {
      const listen = (confirmed: unknown) => {
        // An earlier move may be confirmed first.
        if (confirmed !== offsetMs) return;
        this.child.off('message', listen);
        resolve();
      };
      this.child.on('message', listen);
    });
    // With a callback, a channel that has just been closed is not an error.
    this.child.send(offsetMs, () => {});
    await Promise.race([moved, this.ended]);
  }
}

/** Starts a program. */
export function startProgram(options: ProgramOptions): Program {
  const { args, file = process.execPath, env, cwd, output = 'collect', clockOffsetMs, isDetached = false } = options;
  const hasClock = clockOffsetMs !== undefined;
  const { PATH, SystemRoot } = process.env;
  const log = typeof output === 'object' ? openSync(output.file, 'a') : undefined;
  const stream = log ?? (output === 'inherit' ? 'inherit' : 'pipe');
  const child = spawn(file, hasClock ? ['--import', PROCESS_CLOCK, ...args] : args, {
    cwd,
    env: { PATH, SystemRoot, ...env, ...(hasClock ? { PROCESS_CLOCK_OFFSET_MS: String(clockOffsetMs) } : {}) },
    stdio: [
      isDetached ? 'pipe' : 'ignore',
      stream,
      stream,
      ...(hasClock || options.hasChannel === true ? (['ipc'] as const) : []),
    ],
    serialization: 'advanced',
    detached: isDetached,
    windowsHide: true,
    shell: options.usesShell === true,
  });
  if (log !== undefined) closeSync(log);
  child.channel?.unref();
  return new Program(child, options);
}

/** Result of a program that ran to its end. */
export interface ProgramResult {
  status: number | null;
  out: string;
  err: string;
}

/** Runs a program to its end. */
export async function runProgram(options: Omit<ProgramOptions, 'name' | 'output'>): Promise<ProgramResult> {
  const { child, ended } = startProgram({ ...options, name: options.args.join(' '), output: 'pipe' });
  const result: ProgramResult = { status: null, out: '', err: '' };
  child.stdout?.on('data', (chunk: Buffer) => (result.out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (result.err += chunk.toString()));
  const { status, error } = await ended;
  if (error !== undefined) throw error;
  return { ...result, status };
}

/** Returns the arguments of node for a TypeScript file. */
export function buildSourceArgs(main: string, ...args: string[]): string[] {
  return ['--import', createRequire(import.meta.url).resolve('tsx'), main, ...args];
}
