import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { v7 as uuidv7 } from 'uuid';
import { PROCESSOR_NAME } from '../../gateways/payments/index.ts';
import { addMonths } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { recordSimulatedCommission } from '../affiliates/commissions.ts';
import { recordSimulatedInvoice } from './invoices.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';
import { recordPlanChange } from './planHistory.ts';
import { continueSubscription, endSubscription, startSubscription } from './subscriptions.ts';

/**
 * Activates a plan whose payment is simulated and grants its first month's credits, or switches to it.
 * @throws ServiceError validation_error if the account is already on that plan.
 */
export async function activateSimulatedPlan(accountId: number, slug: PlanSlug): Promise<void> {
  const plan = getPlanBySlug(slug);
  await changeSubscription(accountId, async (transaction, account) => {
    const current = await Subscription.query(transaction).modify('live').findOne({ account_id: accountId });
    if (current !== undefined && current.current_period_end > now()) {
      if (current.plan_slug === slug) {
        throw new ServiceError('validation_error', `plan: the account is on the ${plan.name} plan already.`, {
          field: 'plan',
        });
      }
      await recordPlanChange(transaction, current, { plan: slug, until: current.paid_until });
      const changed = await current.$query(transaction).patchAndFetch({ plan_slug: slug });
      await continueSubscription(transaction, account, changed);
      return;
    }
    const unsubscribed = current === undefined ? account : await endSubscription(transaction, account, current);
    const startedAt = now();
    const paidUntil = addMonths(startedAt, 12);
    const subscription = await Subscription.query(transaction).insertAndFetch({
      uuid: uuidv7(),
      account_id: accountId,
      plan_slug: slug,
      status: 'active',
      processor: PROCESSOR_NAME,
      started_at: startedAt,
      current_period_end: paidUntil,
      paid_until: paidUntil,
      activated_at: startedAt,
      created_at: startedAt,
    });
    await recordPlanChange(transaction, subscription, { plan: slug, until: paidUntil });
    await startSubscription(transaction, unsubscribed, subscription);
    await recordSimulatedInvoice(transaction, subscription, plan);
    await recordSimulatedCommission(transaction, subscription, plan);
  });
}
