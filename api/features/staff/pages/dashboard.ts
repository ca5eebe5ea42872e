import { getModelsWithStatus } from '../../../../shared/domain/generations/execution/modelHealth.ts';
import { getStaffMetrics } from '../../../../shared/domain/reports/staffMetrics.ts';
import { listPendingApprovals } from '../../../../shared/domain/staff/approvals.ts';
import { ALL_TASK_KINDS } from '../../../../shared/domain/privacy/taskKinds.ts';
import { countTasks } from '../../../../shared/domain/tasks/listTasks.ts';
import { getQueueDepths } from '../../../../shared/queues/depth.ts';
import type { Context } from '../../../context.ts';
import { sendStaffPage } from './view.tsx';

/** Serves the staff page: the metrics as charts, and the state of models and queues. */
export async function staffPage(ctx: Context): Promise<void> {
  const [metrics, models, tasks, approvals, queues] = await Promise.all([
    getStaffMetrics(),
    getModelsWithStatus(),
    countTasks(ALL_TASK_KINDS),
    listPendingApprovals(),
    // The page must also work while Redis is unavailable.
    getQueueDepths().catch(() => null),
  ]);
  await sendStaffPage(ctx, { metrics, models, queues, tasks, approvals });
}
