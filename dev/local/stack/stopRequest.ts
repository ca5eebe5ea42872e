import { EventEmitter, once } from 'node:events';

/** One ctrl-C may arrive more than once: from the terminal, and again from npm, which passes it on. */
const SIGNAL_DEBOUNCE_MS = 1_000;

/** That somebody wants everything to stop, or that it has to. */
export interface StopRequest {
  /** Makes it; `reason` is shown. */
  request(status: number, reason?: string): void;
  isRequested(): boolean;
  /** Resolves, with the exit status, once it is made. */
  requested: Promise<number>;
}

/**
 * Listens for the signals that ask for an end.
 * @param onSecondRequest called when somebody asks once more, a second or more after the first time.
 */
export function listenForStopRequest(onSecondRequest: () => void): StopRequest {
  const events = new EventEmitter();
  const requested = once(events, 'made').then(([status]) => Number(status));
  let requestedAt: number | undefined;

  function request(status: number, reason?: string): void {
    if (reason !== undefined) console.error(reason);
    requestedAt ??= performance.now();
    events.emit('made', status);
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (requestedAt !== undefined && performance.now() - requestedAt > SIGNAL_DEBOUNCE_MS) onSecondRequest();
      else request(0);
    });
  }
  // The terminal may be gone before we are.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  return { request, isRequested: () => requestedAt !== undefined, requested };
}
