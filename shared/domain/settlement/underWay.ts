/** Work that outlasts the job of the queue that began it. A process that stops waits for it. */
const underWay = new Set<Promise<void>>();
let stopping = false;

/** @param work never rejects. */
export function keepTrackOf(work: Promise<void>): void {
  underWay.add(work);
  void work.finally(() => underWay.delete(work));
}

/** Whether nothing new is to be begun. */
export function isStopping(): boolean {
  return stopping;
}

/** From now on nothing new is begun. */
export function beginNoMore(): void {
  stopping = true;
}

/** Waits until nothing is being submitted, looked at or collected any more; for a process that stops. */
export async function allEnded(): Promise<void> {
  while (underWay.size > 0) await Promise.all(underWay);
}
