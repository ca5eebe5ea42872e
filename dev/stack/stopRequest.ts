import { EventEmitter, once } from 'node:events';

/** One ctrl-C may arrive more than once: from the terminal, and again from npm, which passes it on. */
const SAME_REQUEST_MS = 1_000;

/** That somebody wants everything to stop, or that it has to. */
export interface StopRequest {
  /** Makes it; `reason` is shown. */
  make(status: number, reason?: string): void;
  isMade(): boolean;
  /** Resolves, with the exit status, once it is made. */
  made: Promise<number>;
}

/**
 * Listens for the signals that ask for an end.
 * @param onImpatience called when somebody asks once more, a second or more after the first time.
 */
export function awaitStopRequest(onImpatience: () => void): StopRequest {
  const events = new EventEmitter();
  const made = once(events, 'made').then(([status]) => Number(status));
  let madeAt: number | undefined;

  function make(status: number, reason?: string): void {
    if (reason !== undefined) console.error(reason);
    madeAt ??= performance.now();
    events.emit('made', status);
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (madeAt !== undefined && performance.now() - madeAt > SAME_REQUEST_MS) onImpatience();
      else make(0);
    });
  }
  // The terminal may be gone before we are.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  return { make, isMade: () => madeAt !== undefined, made };
}
