import type { Program, ProgramEnd } from './program.ts';

export interface SupervisionOptions {
  start: () => Program;
  restartDelayMs: number;
  /** Called when the program has ended although it was not stopped. @returns whether to start it again. */
  onEnd: (end: ProgramEnd) => boolean;
}

/** A program that is started again when it ends, as a platform does. */
export class SupervisedProgram {
  /** The latest process, which may have ended. */
  current: Program;
  readonly #options: SupervisionOptions;
  #isStopping = false;
  #restart: NodeJS.Timeout | undefined;

  constructor(options: SupervisionOptions) {
    this.#options = options;
    this.current = this.#start();
  }

  /** Stops it without a restart; kills it after a time limit. */
  async stop(killAfterMs: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    await this.current.stop(killAfterMs);
  }

  #start(): Program {
    const program = this.#options.start();
    void this.#restartAfter(program);
    return program;
  }

  async #restartAfter(program: Program): Promise<void> {
    const end = await program.ended;
    if (this.#isStopping || !this.#options.onEnd(end)) return;
    this.#restart = setTimeout(() => (this.current = this.#start()), this.#options.restartDelayMs);
  }
}
