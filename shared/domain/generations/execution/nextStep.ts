import type { GenerationKey } from '../../../queues/catalog.ts';
import { enqueueDispatch, enqueuePoll } from '../../../queues/enqueue.ts';

/** Enqueues the next step of a queued generation. @returns whether Redis accepted the job. */
export function enqueueNextStep(generation: GenerationKey, isSubmitted: boolean): Promise<boolean> {
  return isSubmitted ? enqueuePoll(generation) : enqueueDispatch(generation);
}
