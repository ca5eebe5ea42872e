import { tidyIncoming } from '../shared/gateways/media/incoming.ts';
import { forgetIdempotencyKeys } from '../shared/domain/generations/idempotency.ts';
import { purgeDeletedGenerations } from '../shared/domain/generations/purge.ts';
import { removeDueFiles } from '../shared/domain/mediaRemovals.ts';
import { payCommissions } from '../shared/domain/affiliates/payCommissions.ts';
import { topUpIfLow, topUpLowAccounts } from '../shared/domain/billing/autoTopups.ts';
import { applyEvents, applyWaitingEvents, prunePaymentEvents } from '../shared/domain/billing/paymentEvents.ts';
import { keepBillingUp } from '../shared/domain/billing/keepUp.ts';
import { fetchMissedEvents, reconcilePayments } from '../shared/domain/billing/reconcile.ts';
import { grantDueCredits } from '../shared/domain/grants.ts';
import { pruneIdempotentRequests } from '../shared/domain/idempotentRequests.ts';
import { forgetUnusedClients } from '../shared/domain/oauth/clients.ts';
import { forgetOldCodes } from '../shared/domain/oauth/codes.ts';
import { forgetExpiredRefreshTokens } from '../shared/domain/oauth/refreshTokens.ts';
import { forgetRetiredKeys } from '../shared/domain/oauth/signingKeys.ts';
import { checkModels } from '../shared/domain/settlement/checkModels.ts';
import { foldMetrics } from '../shared/domain/metrics/fold.ts';
import { dispatch } from '../shared/domain/settlement/dispatch.ts';
import { refresh } from '../shared/domain/settlement/refresh.ts';
import { sweep } from '../shared/domain/settlement/sweep.ts';
import { forgetExpiredSessions } from '../shared/domain/sessions.ts';
import { forgetExpiredSignIns } from '../shared/domain/signIns.ts';
import type { JobName, Payload } from '../shared/queues/catalog.ts';

export type Processors = { [Name in JobName]: (payload: Payload<Name>) => Promise<void> };

/** What each job does: payload in, domain call out. A job of the catalog that is missing here does not compile. */
export const createProcessors = (): Processors => ({
  'generation.dispatch': ({ generationIds }) => dispatch(generationIds),
  'generation.poll': ({ generationIds }) => refresh(generationIds, 'poll'),
  'generation.refresh': ({ generationIds }) => refresh(generationIds, 'read'),
  'generation.sweep': () => sweep(),
  'models.check': () => checkModels(),
  'media.tidy': () => tidyIncoming(),
  'media.remove': () => removeDueFiles(),
  'generations.purge': alone(purgeDeletedGenerations),
  'idempotencyKeys.forget': alone(forgetIdempotencyKeys),
  'idempotentRequests.prune': alone(pruneIdempotentRequests),
  'paymentEvents.prune': alone(prunePaymentEvents),
  'payments.apply': ({ eventIds }) => applyEvents(eventIds),
  'payments.sweep': alone(applyWaitingEvents),
  'account.topUp': async ({ accountIds }) => void (await Promise.all(accountIds.map(topUpIfLow))),
  'topups.sweep': alone(topUpLowAccounts),
  'billing.keepUp': alone(keepBillingUp),
  'payments.missed': alone(fetchMissedEvents),
  'payments.reconcile': alone(reconcilePayments),
  'affiliates.pay': alone(payCommissions),
  'credits.grant': async () => void (await grantDueCredits()),
  'metrics.fold': alone(foldMetrics),
  'oauth.forget': async () => {
    await forgetOldCodes();
    await forgetExpiredRefreshTokens();
    await forgetUnusedClients();
    await forgetRetiredKeys();
  },
  'sessions.forget': async () => {
    await forgetExpiredSessions();
    await forgetExpiredSignIns();
  },
});

/** A run that finds the one before still under way in this process leaves it to that: slow ones must not pile up. */
function alone(duty: () => Promise<void>): () => Promise<void> {
  let isUnderWay = false;
  return async () => {
    if (isUnderWay) return;
    isUnderWay = true;
    try {
      await duty();
    } finally {
      isUnderWay = false;
    }
  };
}
