import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import { getReferralMetadata } from '../affiliates/referrals.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { activateSimulatedPlan } from './activateSimulatedPlan.ts';
import { type CheckoutUrl, getCheckoutReturnUrls } from './checkoutUrls.ts';
import { withCustomer } from './customers.ts';
import { openCustomerPortal } from './portal.ts';
import { requireReleasedPlan } from '../catalog/releasedPlans.ts';
import { recordPortalPage } from './syncPurchases.ts';
import { syncSubscription } from './syncSubscription.ts';

/**
 * Opens a checkout page for a plan, or for the change to another plan. If the processor needs no page, the plan is
 * active right away.
 * @param requestKey identifies the request when it is repeated.
 * @throws ServiceError validation_error for the plan that the account already has, while an invoice is open, or while
 * the account is being deleted.
 */
export async function startPlanCheckout(accountId: number, slug: PlanSlug, requestKey: string): Promise<CheckoutUrl> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  assertNotDeleting(account, 'plan');
  await requireReleasedPlan(getPlanBySlug(slug));
  const checkoutUrl = await withCustomer(account, async (customerId) => {
    const current = (await findCurrentSubscription(account)) ?? (await syncAndFindCurrent(account, customerId));
    if (current !== undefined) return startPlanChange(slug, account, current);
    await assertNoPendingPayment(accountId);
    const metadata = await getReferralMetadata(accountId);
    const request = { customerId, accountUuid: account.uuid, plan: slug, metadata };
    const key = `checkout-${requestKey}-${customerId}`;
    return mapProcessorErrors(processor.openSubscriptionCheckout(request, getCheckoutReturnUrls(), key));
  });
  if (checkoutUrl === null) await activateSimulatedPlan(accountId, slug);
  return checkoutUrl;
}

function findCurrentSubscription({ id, subscription_id: currentId }: Account): Promise<Subscription | undefined> {
  return Subscription.query()
    .where({ account_id: id })
    .whereIn('status', ['active', 'past_due', 'unpaid'])
    .whereNotNull('stripe_subscription_id')
    .where('current_period_end', '>', now())
    .orderByRaw('(id = ?) DESC NULLS LAST, id DESC', [currentId])
    .first()
    .execute();
}

/**
 * Syncs the customer's open subscriptions before a checkout: a payment may have completed before its webhook arrived,
 * and the customer must not be charged twice. If the sync of one fails, no page is opened.
 */
async function syncAndFindCurrent(account: Account, customerId: string): Promise<Subscription | undefined> {
  const subscriptionIds = await mapProcessorErrors(processor.listOpenSubscriptions(customerId));
  for (const subscriptionId of subscriptionIds) await mapProcessorErrors(syncSubscription(subscriptionId));
  return subscriptionIds.length === 0 ? undefined : findCurrentSubscription(await account.$query());
}

/** Rejects a checkout while a bank is processing a payment, as a second year would be paid and refunded. */
async function assertNoPendingPayment(accountId: number): Promise<void> {
  const incomplete = Subscription.query().where({ account_id: accountId, status: 'incomplete' });
  const latest = await incomplete.whereNotNull('stripe_subscription_id').orderBy('id', 'desc').first();
  if (latest === undefined) return;
  if (!(await mapProcessorErrors(processor.isPaymentProcessing(latest.stripe_subscription_id as string)))) return;
  throw new ServiceError(
    'validation_error',
    `plan: the payment of the ${getPlanBySlug(latest.plan_slug).name} plan is still being processed. Wait for it, or cancel it in the billing portal.`,
    { field: 'plan' },
  );
}

async function startPlanChange(slug: PlanSlug, account: Account, current: Subscription): Promise<CheckoutUrl> {
  const { status, plan_slug: plan, stripe_subscription_id: subscriptionId } = current;
  if (plan === slug && status === 'active') {
    throw new ServiceError(
      'validation_error',
      `plan: the account is on the ${getPlanBySlug(slug).name} plan already.`,
      {
        field: 'plan',
      },
    );
  }
  if (status !== 'active') {
    throw new ServiceError(
      'validation_error',
      current.disputed_charge_id === null
        ? 'plan: pay the open invoice of the current subscription first, in the billing portal.'
        : 'plan: the payment of the current subscription is being disputed. Settle that first.',
      { field: 'plan' },
    );
  }
  const customerId = account.stripe_customer_id as string;
  const request = { customerId, subscriptionId: subscriptionId as string, plan: slug };
  await recordPortalPage(account.id);
  try {
    return await mapProcessorErrors(processor.openPlanChange(request, getCheckoutReturnUrls().successUrl));
  } catch (err) {
    if (!(err instanceof ProcessorError) || err.isCustomerGone) throw err;
    // The customer has to change something else about the subscription first, such as a scheduled change.
    logger.warn({ err, accountId: account.id }, 'plan change not available; opening the portal instead');
    return openCustomerPortal(account.id);
  }
}
