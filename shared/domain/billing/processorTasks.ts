import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { HOUR_MS } from '../../spec/durations.ts';
import type { Postponement, Task, TaskKind } from '../tasks/taskKind.ts';

/** Kinds that are scheduled by rules which their runs need themselves. */
export const REFUND_KIND = 'refund.issue';
export const PENDING_TOPUP_KINDS = { automatic: 'topup.charge', manual: 'topup.page' } as const;
export const FOLLOW_UP_KIND = 'subscription.followUp';
export const APPLY_EVENT_KIND = 'payment.event';
export const ISSUE_INVOICE_KIND = 'invoice.issue';

/** Settings of tasks that call the payment processor. */
export const PROCESSOR_TASK = {
  backoff: { minMs: 30_000, maxMs: HOUR_MS },
  concurrency: 4,
} as const satisfies Partial<TaskKind>;

/** Creates a run of one task that waits while payments are simulated: the processor may be configured again. */
export const withProcessor =
  (run: (task: Task) => Promise<Postponement | undefined>): TaskKind['run'] =>
  async ([task]) =>
    processor.isSimulated ? { runAt: addMilliseconds(now(), HOUR_MS) } : run(task);
