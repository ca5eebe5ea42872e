import { AuditEntry } from '../../tables/AuditEntry.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';

/** A change on the queue board. */
export interface QueueChange {
  /** Name of the queue; `all` for all of them. */
  queue: string;
  /** Change, such as `pause` or `<job>/retry`. */
  change: string;
  /** Body of the request, as JSON. */
  body: string;
}

/** Records a change on the queue board before it is made: the queues are in Redis. */
export async function recordQueueChange(actor: Actor, { queue, change, body }: QueueChange): Promise<void> {
  await AuditEntry.transaction((transaction) =>
    recordAuditEntry(transaction, actor, {
      action: 'queue.change',
      accountId: null,
      targetId: queue,
      after: { change, ...(body === '{}' ? {} : { body }) },
    }),
  );
}
