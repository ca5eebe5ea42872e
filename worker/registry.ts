import { cleanTempFiles } from '../shared/gateways/media/incoming.ts';
import { pruneIdempotencyKeys } from '../shared/domain/generations/idempotency.ts';
import { purgeDeletedGenerations } from '../shared/domain/generations/purge.ts';
import { deleteDueMedia } from '../shared/domain/mediaRemovals.ts';
import { runPayouts } from '../shared/domain/affiliates/payCommissions.ts';
import { sweepAutoTopups, chargeTriggeredAutoTopups } from '../shared/domain/billing/autoTopups.ts';
import { processPaymentEvents, retryPaymentEvents, prunePaymentEvents } from '../shared/domain/billing/paymentEvents.ts';
import { runBillingMaintenance } from '../shared/domain/billing/keepUp.ts';
import { backfillPaymentEvents, reconcilePayments } from '../shared/domain/billing/reconcile.ts';
import { renewDueCreditPeriods } from '../shared/domain/grants.ts';
import { pruneIdempotentRequests } from '../shared/domain/idempotentRequests.ts';
import { pruneUnusedClients } from '../shared/domain/oauth/clients.ts';
import { pruneExpiredCodes } from '../shared/domain/oauth/codes.ts';
import { pruneExpiredRefreshTokens } from '../shared/domain/oauth/refreshTokens.ts';
import { pruneRetiredKeys } from '../shared/domain/oauth/signingKeys.ts';
import { checkModelHealth } from '../shared/domain/settlement/checkModels.ts';
import { rollUpMetrics } from '../shared/domain/metrics/fold.ts';
import { dispatchGenerations } from '../shared/domain/settlement/dispatch.ts';
import { pollGenerations } from '../shared/domain/settlement/refresh.ts';
import { sweepGenerations } from '../shared/domain/settlement/sweep.ts';
import { pruneExpiredSessions } from '../shared/domain/sessions.ts';
import { pruneExpiredSignIns } from '../shared/domain/signIns.ts';
import type { JobName, Payload } from '../shared/queues/catalog.ts';

export type Processors = { [Name in JobName]: (payload: Payload<Name>) => Promise<void> };

/** What each job does: payload in, domain call out. A job of the catalog that is missing here does not compile. */
export const createProcessors = (): Processors => ({
  'generation.dispatch': ({ generationIds }) => dispatchGenerations(generationIds),
  'generation.poll': ({ generationIds }) => pollGenerations(generationIds, 'poll'),
  'generation.refresh': ({ generationIds }) => pollGenerations(generationIds, 'read'),
  'generation.sweep': () => sweepGenerations(),
  'models.check': () => checkModelHealth(),
  'media.tidy': () => cleanTempFiles(),
  'media.remove': () => deleteDueMedia(),
  'generations.purge': singleFlight(purgeDeletedGenerations),
  'idempotencyKeys.forget': singleFlight(pruneIdempotencyKeys),
  'idempotentRequests.prune': singleFlight(pruneIdempotentRequests),
  'paymentEvents.prune': singleFlight(prunePaymentEvents),
  'payments.apply': ({ eventIds }) => processPaymentEvents(eventIds),
  'payments.sweep': singleFlight(retryPaymentEvents),
  'account.topUp': ({ accountIds }) => chargeTriggeredAutoTopups(accountIds),
  'topups.sweep': singleFlight(sweepAutoTopups),
  'billing.keepUp': singleFlight(runBillingMaintenance),
  'payments.missed': singleFlight(backfillPaymentEvents),
  'payments.reconcile': singleFlight(reconcilePayments),
  'affiliates.pay': singleFlight(runPayouts),
  'credits.grant': async () => void (await renewDueCreditPeriods()),
  'metrics.fold': singleFlight(rollUpMetrics),
  'oauth.forget': async () => {
    await pruneExpiredCodes();
    await pruneExpiredRefreshTokens();
    await pruneUnusedClients();
    await pruneRetiredKeys();
  },
  'sessions.forget': async () => {
    await pruneExpiredSessions();
    await pruneExpiredSignIns();
  },
});

/** A run that finds the one before still under way in this process leaves it to that: slow ones must not pile up. */
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
