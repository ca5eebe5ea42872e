import { enqueueDispatch, enqueuePoll } from '../../../queues/enqueue.ts';

/** Enqueues the next step of a queued generation. @returns whether Redis accepted the job. */
export function enqueueNextStep(uuid: string, isSubmitted: boolean): Promise<boolean> {
  return isSubmitted ? enqueuePoll(uuid) : enqueueDispatch(uuid);
}
