import { perService } from './serviceScope.ts';

/** Running jobs, and work that outlasts the job that started it. Shutdown waits for all of it. */
const state = perService(() => ({
  inFlight: new Set<Promise<void>>(),
  drainingSince: undefined as number | undefined,
  listeners: [] as (() => void)[],
}));

/** Time for retries once the process drains. Longer retries would exceed the shutdown timeout. */
const RETRY_WHILE_DRAINING_MS = 10_000;

/** Registers work that shutdown waits for. @param work never rejects. */
export function trackInFlight(work: Promise<void>): void {
  const { inFlight } = state();
  inFlight.add(work);
  void work.finally(() => inFlight.delete(work));
}

/** Returns true once the process is shutting down: no new work may start. */
export function isDraining(): boolean {
  return state().drainingSince !== undefined;
}

/** Allows new work again, when a worker starts. */
export function resetDraining(): void {
  state().drainingSince = undefined;
}

/** Stops the start of new work. */
export function startDraining(): void {
  state().drainingSince = performance.now();
  for (const listener of state().listeners) listener();
}

/** Registers a function that is called when the process begins to shut down. */
export function onDraining(listener: () => void): void {
  state().listeners.push(listener);
}

/** Returns true while work that failed temporarily may be retried: always before a shutdown, and for 10 s into it. */
export function mayRetry(): boolean {
  const { drainingSince } = state();
  return drainingSince === undefined || performance.now() - drainingSince < RETRY_WHILE_DRAINING_MS;
}

/** Waits until no job, submit, poll or download is in progress. Called at shutdown. */
export async function waitForInFlight(): Promise<void> {
  const { inFlight } = state();
  while (inFlight.size > 0) await Promise.all(inFlight);
}
