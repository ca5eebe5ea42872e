import { EventEmitter, once } from 'node:events';

/** One Ctrl-C may arrive more than once: from the terminal, and again from npm, which forwards it. */
const SIGNAL_DEBOUNCE_MS = 1_000;

/** A request to stop everything, by a signal or after a failure. */
export interface StopRequest {
  /** Requests the stop; `reason` is printed. */
  request(status: number, reason?: string): void;
  isRequested(): boolean;
  /** Resolves with the exit status once a stop is requested. */
  requested: Promise<number>;
}

/**
 * Listens for signals that request a stop.
 * @param onSecondRequest called on a further signal, a second or more after the first one.
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
  // The terminal may be closed before this process ends.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  return { request, isRequested: () => requestedAt !== undefined, requested };
}
