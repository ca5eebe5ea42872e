import { listAbandonedEvents } from '../../../shared/domain/billing/paymentEvents.ts';
import { getModelsWithStatus } from '../../../shared/domain/generations/execution/modelHealth.ts';
import { getStaffMetrics } from '../../../shared/domain/platform/staffMetrics.ts';
import { getQueueDepths } from '../../../shared/queues/depth.ts';
import type { Context } from '../../context.ts';
import { sendStaffPage } from '../../web/staff/view.tsx';
import { presentMetrics } from '../presenters.ts';

export async function metrics(ctx: Context): Promise<void> {
  ctx.body = presentMetrics(await getStaffMetrics());
}

/** How many abandoned payment events the page lists. */
const ABANDONED_EVENTS_SHOWN = 20;

/** The same as charts, with how the models and the queues are. */
export async function staffPage(ctx: Context): Promise<void> {
  const [metrics, models, abandoned, queues] = await Promise.all([
    getStaffMetrics(),
    getModelsWithStatus(),
    listAbandonedEvents(ABANDONED_EVENTS_SHOWN),
    // The page is there for when Redis is not.
    getQueueDepths().catch(() => null),
  ]);
  sendStaffPage(ctx, { metrics, models, queues, abandoned });
}
