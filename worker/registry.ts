import { RETENTION } from '../shared/domain/features.ts';
import { pruneRows } from '../shared/domain/retention.ts';
import { cleanTempFiles } from '../shared/gateways/media/tempFiles.ts';
import { startTasks, sweepTasks } from '../shared/domain/tasks/runTasks.ts';
import { expireUploads } from '../shared/domain/uploads/expireUploads.ts';
import { runPayouts } from '../shared/domain/affiliates/runPayouts.ts';
import { sweepAutoTopups, chargeTriggeredAutoTopups } from '../shared/domain/billing/autoTopups.ts';
import { runBillingMaintenance } from '../shared/domain/billing/maintenance.ts';
import { backfillPaymentEvents, reconcilePayments } from '../shared/domain/billing/reconcile.ts';
import { renewDueCreditPeriods } from '../shared/domain/credits/renewDuePeriods.ts';
import { recordReminders } from '../shared/domain/emails/reminders.ts';
import { deliverWebhooks } from '../shared/domain/webhooks/deliverWebhooks.ts';
import { checkModelHealth } from '../shared/domain/generations/execution/healthCheck.ts';
import { sumGenerationHours } from '../shared/domain/reports/generationHours.ts';
import { collectGenerations } from '../shared/domain/generations/execution/collect.ts';
import { dispatchGenerations } from '../shared/domain/generations/execution/dispatch.ts';
import { pollGenerations } from '../shared/domain/generations/execution/poll.ts';
import { sweepGenerations } from '../shared/domain/generations/execution/sweep.ts';
import { ALL_TASK_KINDS } from '../shared/domain/privacy/taskKinds.ts';
import { revokeExpiredApiKeys } from '../shared/domain/accounts/apiKeys.ts';
import type { JobName, Payload } from '../shared/queues/catalog.ts';
import { recordWorkerHeartbeat } from '../shared/queues/heartbeat.ts';

export type Processors = { [Name in JobName]: (payload: Payload<Name>) => Promise<void> };

/** Maps each job to its domain function. A job of the catalog that is missing here is a compile error. */
export const createProcessors = (): Processors => ({
  'generation.dispatch': ({ generations }) => dispatchGenerations(generations),
  'generation.poll': async ({ generations }) => pollGenerations(generations),
  'generation.collect': async ({ generations }) => collectGenerations(generations),
  'generation.sweep': () => sweepGenerations(),
  'tasks.run': async ({ kind }) => ALL_TASK_KINDS.filter(({ name }) => name === kind).forEach(startTasks),
  'tasks.sweep': () => sweepTasks(ALL_TASK_KINDS),
  'worker.heartbeat': () => recordWorkerHeartbeat(),
  'models.healthCheck': () => checkModelHealth(),
  'media.cleanTemp': () => cleanTempFiles(),
  'uploads.expire': singleFlight(expireUploads),
  'autoTopups.charge': ({ accountIds }) => chargeTriggeredAutoTopups(accountIds),
  'autoTopups.sweep': singleFlight(sweepAutoTopups),
  'billing.maintain': singleFlight(runBillingMaintenance),
  'paymentEvents.backfill': singleFlight(backfillPaymentEvents),
  'payments.reconcile': singleFlight(reconcilePayments),
  'payouts.run': singleFlight(runPayouts),
  'creditPeriods.renew': async () => void (await renewDueCreditPeriods()),
  'generationHours.sum': singleFlight(sumGenerationHours),
  'webhooks.deliver': () => deliverWebhooks(),
  'reminders.record': singleFlight(recordReminders),
  'apiKeys.expire': singleFlight(revokeExpiredApiKeys),
  'rows.prune': singleFlight(() => pruneRows(RETENTION)),
});

/** Skips a run while the previous one is still in progress in this process, so that slow runs do not pile up. */
function singleFlight(run: () => Promise<void>): () => Promise<void> {
  let isRunning = false;
  return async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await run();
    } finally {
      isRunning = false;
    }
  };
}
