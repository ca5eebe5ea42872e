import { raw, type Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { DAY_MS, MINUTE_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { OPEN_TOPUPS_MAX } from '../../spec/limits.ts';
import { topupCredits } from '../../spec/topupCredits.ts';
import type { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { requireReleasedPlan } from '../catalog/releasedPlans.ts';
import { buildSubscriptionRequiredError, getActivePlan } from '../credits/entitlement.ts';
import { applySnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { withCustomer } from './customers.ts';
import { PENDING_TOPUP_KINDS } from './processorTasks.ts';
import { findTopupSnapshot } from './topupPayments.ts';

/**
 * Opens a checkout page for credits, at the rate of the account's current plan. If the processor needs no page, the
 * credits are added right away.
 * @param uuid the id of the top-up: the same for a repeated request.
 * @throws ServiceError as {@link withAccountOfCaller}
 * @throws ServiceError subscription_required
 * @throws ServiceError rate_limited while too many top-ups of the account wait for payment.
 */
export async function startTopupCheckout(caller: Caller, amountCents: number, uuid: string): Promise<CheckoutUrl> {
  // Locked, so that concurrent requests are counted one after the other.
  const { account, topup } = await withAccountOfCaller(caller, async (transaction, locked) => {
    const created = await createTopup(locked, 'manual', amountCents, uuid, {
      transaction,
      memberNumber: caller.member?.number,
    });
    await assertOpenTopupLimit(transaction, created);
    return { account: locked, topup: created };
  });
  const { credits } = topup;
  const checkout = await withCustomer(account, (customerId) => {
    const request = { customerId, topupUuid: topup.uuid, accountUuid: account.uuid, amountCents, credits };
    return mapProcessorErrors(processor.openTopupCheckout(request, getCheckoutReturnUrls()));
  });
  if (checkout.url === null) {
    await applySnapshot(await findTopupSnapshot(checkout.payment, await nextSyncVersion()));
  } else {
    await Topup.query().findById(topup.uuid).patch({ stripe_session_id: checkout.sessionId });
  }
  return checkout.url;
}

/** A checkout page of the processor stays open for this long. */
export const CHECKOUT_SESSION_MS = DAY_MS;
/** A top-up without a page counts as open for this long: after that, opening the page has failed. */
const CHECKOUT_OPENING_TIMEOUT_MS = MINUTE_MS;

/**
 * Limits the open top-ups of an account, as each is synced until it is paid or its page has expired. A top-up whose
 * page could not be opened cannot be paid, and stops counting after a minute.
 */
async function assertOpenTopupLimit(transaction: Transaction, { uuid, account_id: accountId }: Topup): Promise<void> {
  const pending = await Topup.query(transaction)
    .where({ account_id: accountId, kind: 'manual', status: 'pending' })
    .whereNot({ uuid });
  const at = now().getTime();
  const expiryTimes = pending
    .map(
      (open) =>
        open.created_at.getTime() +
        (open.stripe_session_id === null ? CHECKOUT_OPENING_TIMEOUT_MS : CHECKOUT_SESSION_MS),
    )
    .filter((expiresAt) => expiresAt > at)
    .sort((a, b) => a - b);
  const next = expiryTimes[expiryTimes.length - OPEN_TOPUPS_MAX];
  if (next === undefined) return;
  const seconds = Math.ceil((next - at) / 1_000);
  throw new ServiceError(
    'rate_limited',
    `${OPEN_TOPUPS_MAX} top-ups are waiting for payment. Pay one of them, or try again in ${seconds} s, when one has expired.`,
    { retryAfterSeconds: seconds },
  );
}

/** A new top-up is left to the process that created it for this long. */
const SYNC_GRACE_MS = MINUTE_MS;

/**
 * Records a top-up before its payment is requested.
 * @param options the transaction that it is part of, the time that the transaction uses, the credits that a create
 *   needs, and the member who buys it.
 * @throws ServiceError subscription_required
 */
export async function createTopup(
  account: Account,
  kind: Topup['kind'],
  amountCents: number,
  uuid: string,
  options: {
    transaction: Transaction;
    at?: Date;
    neededCredits?: number | null;
    memberNumber?: number | undefined;
  },
): Promise<Topup> {
  const { transaction, at: createdAt = now(), neededCredits = null, memberNumber = null } = options;
  const plan = getActivePlan(account, createdAt);
  if (plan === null)
    throw buildSubscriptionRequiredError(account, 'Credits are sold with a subscription: choose a plan first.');
  await requireReleasedPlan(plan, transaction);
  await Topup.query(transaction)
    .insert({
      uuid,
      account_id: account.id,
      member_number: memberNumber,
      kind,
      status: 'pending',
      amount_cents: amountCents,
      credits: topupCredits(amountCents, plan),
      needed_credits: neededCredits,
      created_at: createdAt,
    })
    .onConflict('uuid')
    .ignore();
  const runAt = addMilliseconds(createdAt, SYNC_GRACE_MS);
  await scheduleTasks(transaction, PENDING_TOPUP_KINDS[kind], [{ key: uuid, accountId: account.id, runAt }]);
  return Topup.query(transaction).findById(uuid).throwIfNotFound();
}

/** The page where a customer pays; null if nothing has to be paid and the plan or the credits are active already. */
export type CheckoutUrl = string | null;

/** Returns the pages that a customer returns to from a checkout. */
export function getCheckoutReturnUrls(): { successUrl: string; cancelUrl: string } {
  return {
    successUrl: `${config.BILLING_RETURN_URL}?checkout=success`,
    cancelUrl: `${config.BILLING_RETURN_URL}?checkout=canceled`,
  };
}

/** A top-up with the credits that are left of it; null unless it is paid. */
export type ListedTopup = Topup & { remainder: number | null };

/** Lists the latest top-ups of an account, newest first. */
export async function listRecentTopups(accountId: number, limit: number): Promise<ListedTopup[]> {
  const topups = await queryWithRemainders(accountId).orderBy('topups.created_at', 'desc').limit(limit);
  return topups as ListedTopup[];
}

/** Returns the credits that are left of a paid top-up. */
export async function readTopupRemainder({ uuid, account_id: accountId }: Topup): Promise<number> {
  const topup = await queryWithRemainders(accountId).findById(uuid);
  return (topup as ListedTopup | undefined)?.remainder ?? 0;
}

function queryWithRemainders(accountId: number) {
  return Topup.query()
    .select('topups.*', 'lot.remainder')
    .leftJoin(raw('topup_remainders(?) AS lot', [accountId]), 'lot.topup_uuid', 'topups.uuid')
    .where('topups.account_id', accountId);
}
