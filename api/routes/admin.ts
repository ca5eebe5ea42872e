import { abandonedEvents } from '../../shared/domain/billing/paymentEvents.ts';
import { modelsWithStatus } from '../../shared/domain/modelHealth.ts';
import { staffMetrics } from '../../shared/domain/metrics/staffMetrics.ts';
import { depthOfQueues } from '../../shared/queues/depth.ts';
import type { Context } from '../context.ts';
import { sendStaffPage } from '../pages/staff/page.tsx';
import { presentMetrics } from '../presenters.ts';

export async function metrics(ctx: Context): Promise<void> {
  ctx.body = presentMetrics(await staffMetrics());
}

/** How many abandoned payment events the page lists. */
const ABANDONED_SHOWN = 20;

/** The same as charts, with how the models and the queues are. */
export async function staffPage(ctx: Context): Promise<void> {
  const [metrics, models, abandoned, queues] = await Promise.all([
    staffMetrics(),
    modelsWithStatus(),
    abandonedEvents(ABANDONED_SHOWN),
    // The page is there for when Redis is not.
    depthOfQueues().catch(() => null),
  ]);
  sendStaffPage(ctx, { metrics, models, queues, abandoned });
}
