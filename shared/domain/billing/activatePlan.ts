import { v7 as uuidv7 } from 'uuid';
import { addMonths } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { type PlanSlug, planBySlug } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { recordSimulated } from '../affiliates/commissions.ts';
import { lockAccount } from '../credits.ts';
import { PROCESSOR } from '../subscriptions.ts';
import { begin, end, goOn, renewUntil } from './lifecycle.ts';

/**
 * Activates a plan whose payment was simulated, with its first month's credits, or switches to it.
 * @throws ServiceError validation_error when the account is on that plan already.
 */
export async function activatePlan(accountId: number, slug: PlanSlug): Promise<void> {
  const plan = planBySlug(slug);
  await Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    const live = await Subscription.query(transaction).modify('live').findOne({ account_id: accountId });
    if (live !== undefined && live.current_period_end > now()) {
      if (live.plan_slug === slug) {
        throw new ServiceError('validation_error', `plan: the account is on the ${plan.name} plan already.`);
      }
      await goOn(transaction, account, await live.$query(transaction).patchAndFetch({ plan_slug: slug }), true);
      return;
    }
    const renewed = live === undefined ? account : await renewUntil(transaction, account, live, now());
    const ended = await live?.$query(transaction).patchAndFetch({ status: 'canceled' });
    const free = ended === undefined ? renewed : await end(transaction, renewed, ended);
    const startedAt = now();
    const paidUntil = addMonths(startedAt, 12);
    const subscription = await Subscription.query(transaction).insertAndFetch({
      uuid: uuidv7(),
      account_id: accountId,
      plan_slug: slug,
      status: 'active',
      processor: PROCESSOR,
      started_at: startedAt,
      current_period_end: paidUntil,
      paid_until: paidUntil,
      begun_at: startedAt,
      created_at: startedAt,
    });
    await begin(transaction, free, subscription);
    await recordSimulated(transaction, subscription, plan);
  });
}
