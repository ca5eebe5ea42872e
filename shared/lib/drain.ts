import { perService } from './serviceScope.ts';

/** The jobs at work, and work that outlasts the job that began it. A process that stops waits for all of it. */
const state = perService(() => ({
  underWay: new Set<Promise<void>>(),
  stoppingSince: undefined as number | undefined,
}));

/** A process that stops insists no longer on what cannot be done now: it would be killed over it, and all the rest with it. */
const RETRY_WHILE_DRAINING_MS = 10_000;

/** @param work never rejects. */
export function trackInFlight(work: Promise<void>): void {
  const { underWay } = state();
  underWay.add(work);
  void work.finally(() => underWay.delete(work));
}

/** Whether nothing new is to be begun. */
export function isDraining(): boolean {
  return state().stoppingSince !== undefined;
}

/** A worker has started. */
export function resetDraining(): void {
  state().stoppingSince = undefined;
}

/** From now on nothing new is begun. */
export function startDraining(): void {
  state().stoppingSince = performance.now();
}

/** Whether what has failed for the time may still be tried again: the process is not stopping, or not for long. */
export function mayRetry(): boolean {
  const { stoppingSince } = state();
  return stoppingSince === undefined || performance.now() - stoppingSince < RETRY_WHILE_DRAINING_MS;
}

/** Waits until no job is at work and nothing is being submitted, looked at or collected; for a process that stops. */
export async function waitForInFlight(): Promise<void> {
  const { underWay } = state();
  while (underWay.size > 0) await Promise.all(underWay);
}
