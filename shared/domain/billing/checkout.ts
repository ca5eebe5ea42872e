import { processor, ProcessorError } from '../../gateways/payments/index.ts';
import { config } from '../../lib/config.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { type PlanSlug, planBySlug } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { referralMetadata } from '../affiliates/referrals.ts';
import { activePlan } from '../subscriptions.ts';
import { asCustomer } from './customers.ts';
import { attempt } from './effects.ts';
import { orUnavailable } from './orUnavailable.ts';
import { activatePlan } from './activatePlan.ts';
import { subscriptionEffect } from './syncSubscription.ts';

/** Where a customer goes to pay; null where there is nothing to pay and the plan or the credits are there already. */
export type Checkout = string | null;

/** The pages that a customer comes back to. */
export const returnUrls = () => ({
  successUrl: `${config.BILLING_RETURN_URL}?checkout=success`,
  cancelUrl: `${config.BILLING_RETURN_URL}?checkout=canceled`,
});

/**
 * Opens a checkout of a plan, or of the change to another one. Where the processor takes the payment without a page, the
 * plan is active at once.
 * @param requestKey names the request, where it may be repeated.
 * @throws ServiceError validation_error for the plan that the account is on, or while an invoice is open.
 */
export async function checkout(accountId: number, slug: PlanSlug, requestKey: string): Promise<Checkout> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  const page = await asCustomer(account, async (customerId) => {
    const current = (await currentOf(account)) ?? (await currentAfterLook(account, customerId));
    if (current !== undefined) return switchTo(slug, account, current);
    await requireNoneUnderWay(accountId);
    const metadata = await referralMetadata(accountId);
    const order = { customerId, accountUuid: account.uuid, plan: slug, metadata };
    const key = `checkout-${requestKey}-${customerId}`;
    return orUnavailable(processor.openSubscriptionCheckout(order, returnUrls(), key));
  });
  if (page === null) await activatePlan(accountId, slug);
  return page;
}

/** A page to pay on is thought to be the one that was just paid on for so long. */
const RECENT_MS = 3_600_000;

/**
 * Whether the payment of a customer who comes back from a checkout has yet to arrive: they have no plan still, or the
 * last top-up that they began is not paid.
 */
export async function isPaymentPending(accountId: number): Promise<boolean> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  if (processor.isSimulated || account.stripe_customer_id === null) return false;
  if (activePlan(account) === null) return true;
  const topup = await Topup.query()
    .where({ account_id: accountId, kind: 'manual' })
    .where('created_at', '>', addMilliseconds(now(), -RECENT_MS))
    .orderBy('created_at', 'desc')
    .first();
  return topup?.status === 'pending';
}

function currentOf({ id, subscription_id: livedUnder }: Account): Promise<Subscription | undefined> {
  return Subscription.query()
    .where({ account_id: id })
    .whereIn('status', ['active', 'past_due', 'unpaid'])
    .whereNotNull('stripe_subscription_id')
    .where('current_period_end', '>', now())
    .orderByRaw('(id = ?) DESC NULLS LAST, id DESC', [livedUnder])
    .first()
    .execute();
}

/** It may have been paid, and nobody has told us: nobody is to pay twice for that. */
async function currentAfterLook(account: Account, customerId: string): Promise<Subscription | undefined> {
  const theirs = await orUnavailable(processor.subscriptionsOf(customerId));
  for (const subscriptionId of theirs) await attempt(() => subscriptionEffect(subscriptionId));
  return theirs.length === 0 ? undefined : currentOf(await account.$query());
}

/** A bank may take days; a second year would be paid, and given back. */
async function requireNoneUnderWay(accountId: number): Promise<void> {
  const begun = Subscription.query().where({ account_id: accountId, status: 'incomplete' });
  const latest = await begun.whereNotNull('stripe_subscription_id').orderBy('id', 'desc').first();
  if (latest === undefined) return;
  if (!(await orUnavailable(processor.isBeingPaid(latest.stripe_subscription_id as string)))) return;
  throw new ServiceError(
    'validation_error',
    `plan: the payment of the ${planBySlug(latest.plan_slug).name} plan is still being processed. Wait for it, or cancel it in the billing portal.`,
  );
}

async function switchTo(slug: PlanSlug, account: Account, current: Subscription): Promise<Checkout> {
  const { status, plan_slug: plan, stripe_subscription_id: subscriptionId } = current;
  if (plan === slug && status === 'active') {
    throw new ServiceError('validation_error', `plan: the account is on the ${planBySlug(slug).name} plan already.`);
  }
  if (status !== 'active') {
    throw new ServiceError(
      'validation_error',
      current.disputed_charge_id === null
        ? 'plan: pay the open invoice of the current subscription first, in the billing portal.'
        : 'plan: the payment of the current subscription is being disputed. Settle that first.',
    );
  }
  const customerId = account.stripe_customer_id as string;
  const order = { customerId, subscriptionId: subscriptionId as string, plan: slug };
  try {
    return await orUnavailable(processor.openPlanSwitch(order, returnUrls().successUrl));
  } catch (error) {
    if (!(error instanceof ProcessorError) || error.isCustomerGone) throw error;
    // There is something about the subscription that has to be seen to first, such as a change that is scheduled.
    logger.warn({ accountId: account.id, error: error.message }, 'no plan switch: the portal is opened instead');
    return portal(account.id);
  }
}

/** The processor's portal: payment methods, invoices, cancellation. null where it has none. */
export async function portal(accountId: number): Promise<string | null> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  return asCustomer(account, (customerId) =>
    orUnavailable(processor.openPortal(customerId, config.BILLING_RETURN_URL)),
  );
}
