import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { config } from '../../lib/config.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { type PlanSlug, getPlanBySlug } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { getReferralMetadata } from '../affiliates/referrals.ts';
import { getActivePlan } from './billingStatus.ts';
import { withCustomer } from './customers.ts';
import { tryApply } from './accountChanges.ts';
import { mapProcessorErrors } from './processorErrors.ts';
import { activateSimulatedPlan } from './activateSimulatedPlan.ts';
import { fetchSubscriptionChange } from './syncSubscription.ts';

/** Where a customer goes to pay; null where there is nothing to pay and the plan or the credits are there already. */
export type CheckoutUrl = string | null;

/** The pages that a customer comes back to. */
export const getCheckoutReturnUrls = () => ({
  successUrl: `${config.BILLING_RETURN_URL}?checkout=success`,
  cancelUrl: `${config.BILLING_RETURN_URL}?checkout=canceled`,
});

/**
 * Opens a checkout of a plan, or of the change to another one. Where the processor takes the payment without a page, the
 * plan is active at once.
 * @param requestKey names the request, where it may be repeated.
 * @throws ServiceError validation_error for the plan that the account is on, or while an invoice is open.
 */
export async function startPlanCheckout(accountId: number, slug: PlanSlug, requestKey: string): Promise<CheckoutUrl> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
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

/** A page to pay on is thought to be the one that was just paid on for so long. */
const RECENT_TOPUP_MS = 3_600_000;

/**
 * Whether the payment of a customer who comes back from a checkout has yet to arrive: they have no plan still, or the
 * last top-up that they began is not paid.
 */
export async function isPaymentPending(accountId: number): Promise<boolean> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  if (processor.isSimulated || account.stripe_customer_id === null) return false;
  if (getActivePlan(account) === null) return true;
  const topup = await Topup.query()
    .where({ account_id: accountId, kind: 'manual' })
    .where('created_at', '>', addMilliseconds(now(), -RECENT_TOPUP_MS))
    .orderBy('created_at', 'desc')
    .first();
  return topup?.status === 'pending';
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

/** It may have been paid, and nobody has told us: nobody is to pay twice for that. */
async function syncAndFindCurrent(account: Account, customerId: string): Promise<Subscription | undefined> {
  const subscriptionIds = await mapProcessorErrors(processor.listOpenSubscriptions(customerId));
  for (const subscriptionId of subscriptionIds) await tryApply(() => fetchSubscriptionChange(subscriptionId));
  return subscriptionIds.length === 0 ? undefined : findCurrentSubscription(await account.$query());
}

/** A bank may take days; a second year would be paid, and given back. */
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
  try {
    return await mapProcessorErrors(processor.openPlanChange(request, getCheckoutReturnUrls().successUrl));
  } catch (error) {
    if (!(error instanceof ProcessorError) || error.isCustomerGone) throw error;
    // There is something about the subscription that has to be seen to first, such as a change that is scheduled.
    logger.warn({ accountId: account.id, error: error.message }, 'no plan switch: the portal is opened instead');
    return openCustomerPortal(account.id);
  }
}

/** The processor's portal: payment methods, invoices, cancellation. null where it has none. */
export async function openCustomerPortal(accountId: number): Promise<string | null> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  return withCustomer(account, (customerId) =>
    mapProcessorErrors(processor.openPortal(customerId, config.BILLING_RETURN_URL)),
  );
}
