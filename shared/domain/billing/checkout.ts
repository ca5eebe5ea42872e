import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { processor, PROCESSOR_NAME, ProcessorError } from '../../gateways/payments/index.ts';
import { addMonths } from '../../lib/calendar.ts';
import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import type { Caller } from '../accounts/caller.ts';
import { assertCredentialUnchanged, withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { recordSecurityEvent, type RequestOrigin, SERVICE_ORIGIN } from '../accounts/securityEvents.ts';
import { recordSimulatedCommission } from '../affiliates/commissions.ts';
import { getReferralMetadata } from '../affiliates/referrals.ts';
import { requireReleasedPlan } from '../catalog/releasedPlans.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { type CheckoutUrl, getCheckoutReturnUrls } from './topups.ts';
import { withCustomer } from './customers.ts';
import { recordSimulatedInvoice } from './invoices.ts';
import { recordPlanChange } from './planHistory.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';
import { continueSubscription, endSubscription, startSubscription } from './subscriptions.ts';
import { recordPortalPage } from './syncPurchases.ts';
import { syncSubscription } from './syncSubscription.ts';

/**
 * Opens a checkout page for a plan, or for the change to another plan. If the processor needs no page, the plan is
 * active right away.
 * @param requestKey identifies the request when it is repeated.
 * @param origin the member who chose the plan, for the security log.
 * @throws ServiceError validation_error for the plan that the account already has, while an invoice is open, or while
 * the account is being deleted.
 */
export async function startPlanCheckout(
  caller: Caller,
  slug: PlanSlug,
  requestKey: string,
  origin: RequestOrigin = SERVICE_ORIGIN,
): Promise<CheckoutUrl> {
  const { accountId } = caller;
  const account = await Account.query().findById(accountId).throwIfNotFound();
  assertNotDeleting(account, 'plan');
  await requireReleasedPlan(getPlanBySlug(slug));
  const checkoutUrl = await withCustomer(account, async (customerId) => {
    const current = (await findCurrentSubscription(account)) ?? (await syncAndFindCurrent(account, customerId));
    if (current !== undefined) return startPlanChange(caller, slug, account, current, origin);
    await assertNoPendingPayment(accountId);
    const metadata = await getReferralMetadata(accountId);
    const request = { customerId, accountUuid: account.uuid, plan: slug, metadata };
    const key = `checkout-${requestKey}-${customerId}`;
    return mapProcessorErrors(processor.openSubscriptionCheckout(request, getCheckoutReturnUrls(), key));
  });
  const record = (transaction: Transaction) =>
    recordSecurityEvent(transaction, {
      accountId,
      event: 'plan_checkout_opened',
      origin,
      details: { plan: slug },
      subject: { plan: slug },
    });
  if (checkoutUrl === null) await activateSimulatedPlan(caller, slug, record);
  else await withAccountOfCaller(caller, record);
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

async function startPlanChange(
  caller: Caller,
  slug: PlanSlug,
  account: Account,
  current: Subscription,
  origin: RequestOrigin,
): Promise<CheckoutUrl> {
  const { status, plan_slug: plan, stripe_subscription_id: subscriptionId } = current;
  if (plan === slug && status === 'active') throw buildSamePlanError(slug);
  // The processor prorates from a plan whose invoice is open, which may never be paid.
  const unpaid = await Invoice.query().findOne({ subscription_id: current.id, status: 'open' });
  if (status !== 'active' || unpaid !== undefined) {
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
    return await mapProcessorErrors(processor.openPlanChange(request, config.BILLING_RETURN_URL));
  } catch (err) {
    if (!(err instanceof ProcessorError) || err.isCustomerGone) throw err;
    // The customer has to change something else about the subscription first, such as a scheduled change.
    logger.warn({ err, accountId: account.id }, 'plan change not available; opening the portal instead');
    return openCustomerPortal(caller, origin);
  }
}

function buildSamePlanError(slug: PlanSlug): ServiceError {
  const detail = `plan: the account is on the ${getPlanBySlug(slug).name} plan already.`;
  return new ServiceError('validation_error', detail, { field: 'plan' });
}

/**
 * Activates a plan whose payment is simulated and grants its first month's credits, or switches to it.
 * @throws ServiceError validation_error if the account is already on that plan.
 */
async function activateSimulatedPlan(
  caller: Caller,
  slug: PlanSlug,
  record: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  const plan = getPlanBySlug(slug);
  const { accountId } = caller;
  await changeSubscription(accountId, async (transaction, account) => {
    await assertCredentialUnchanged(transaction, caller, account);
    await record(transaction);
    const current = await Subscription.query(transaction).modify('live').findOne({ account_id: accountId });
    if (current !== undefined && current.current_period_end > now()) {
      if (current.plan_slug === slug) throw buildSamePlanError(slug);
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

/**
 * Opens the processor's portal for payment methods, invoices and cancellation; null if it has none.
 * @throws ServiceError validation_error while the account is being deleted.
 */
export async function openCustomerPortal(
  caller: Caller,
  origin: RequestOrigin = SERVICE_ORIGIN,
): Promise<string | null> {
  const { accountId } = caller;
  const account = await Account.query().findById(accountId).throwIfNotFound();
  assertNotDeleting(account);
  await recordPortalPage(accountId);
  const url = await withCustomer(account, (customerId) =>
    mapProcessorErrors(processor.openPortal(customerId, config.BILLING_RETURN_URL)),
  );
  if (url !== null)
    await withAccountOfCaller(caller, (transaction) =>
      recordSecurityEvent(transaction, { accountId, event: 'billing_portal_opened', origin }),
    );
  return url;
}
