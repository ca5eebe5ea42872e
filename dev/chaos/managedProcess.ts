import type { Program } from '../local/environment/program.ts';
import { SupervisedProgram } from '../local/environment/supervisedProgram.ts';
import { readProcessMemory } from '../local/procfs.ts';

/** Delay after which a platform restarts a process that has exited. */
const RESTART_DELAY_MS = 500;
const SHUTDOWN_TIMEOUT_MS = 30_000;

/**
 * A process of the service, restarted as a platform does, which can be killed and paused and whose clock can be moved.
 */
export class ManagedProcess {
  readonly #supervised: SupervisedProgram;
  #clockOffsetMs = 0;
  /** The process that a fault ends. */
  #doomed: Program | undefined;

  /**
   * @param start starts the process with an offset of its clock.
   * @param onUnexpectedExit called if it exits although no fault ended it.
   */
  constructor(start: (clockOffsetMs: number) => Program, onUnexpectedExit: (status: string) => void) {
    this.#supervised = new SupervisedProgram({
      start: () => start(this.#clockOffsetMs),
      restartDelayMs: RESTART_DELAY_MS,
      onEnd: ({ status, signal }) => {
        if (this.#doomed !== this.#supervised.current) onUnexpectedExit(signal ?? String(status));
        return true;
      },
    });
  }

  /** Resident memory in kilobytes; null while there is no process. */
  residentKb(): number | null {
    const { isRunning, pid } = this.#supervised.current;
    return isRunning ? (readProcessMemory(pid)?.residentKb ?? null) : null;
  }

  /** Kills it, as a power cut would. It is restarted after a moment. */
  kill(): void {
    this.#doomed = this.#supervised.current;
    this.#doomed.signal('SIGKILL');
  }

  /** Suspends it until `resume`. */
  pause(): void {
    this.#supervised.current.signal('SIGSTOP');
  }

  resume(): void {
    this.#supervised.current.signal('SIGCONT');
  }

  /**
   * Stops it as a platform does at a deployment; it is then restarted. @returns the duration of the shutdown in
   * milliseconds; null if it had to be killed.
   */
  async restart(): Promise<number | null> {
    const ending = this.#supervised.current;
    if (!ending.isRunning) return null;
    this.#doomed = ending;
    const startedAt = performance.now();
    this.resume();
    await ending.stop(SHUTDOWN_TIMEOUT_MS);
    const { signal } = await ending.ended;
    return signal === 'SIGKILL' ? null : performance.now() - startedAt;
  }

  /** Sets how far its clock is ahead, in milliseconds. Resolves when the process uses it, or has ended. */
  async setClock(offsetMs: number): Promise<void> {
    this.#clockOffsetMs = offsetMs;
    await this.#supervised.current.moveClock(offsetMs);
  }

  /**
   * Stops it as a platform does at a deployment, without a restart. Resolves when it has ended, at the latest after 30
   * s.
   */
  async stop(): Promise<void> {
    this.resume();
    await this.#supervised.stop(SHUTDOWN_TIMEOUT_MS);
  }
}
