import type { Transaction } from 'objection';
import type { ProcessorSubscription, ReviewedInvoice } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { SubscriptionPlan } from '../../tables/SubscriptionPlan.ts';

/*
 * The history of the plans that a subscription was paid for (`subscription_plans`), one row a payment. Which plan
 * applies at a time, and what a month grants (credits/monthPlan.sql), follow from these rows alone: from what was paid
 * and returned, not from when it became known here.
 */

/** Returns the latest plan that is paid and not returned; null if there is none. */
export function findPaidPlan(invoices: ReviewedInvoice[]): ReviewedInvoice | null {
  const at = now();
  const applying = invoices.filter(({ plan, paidUntil, returnedAt }) => {
    return plan !== null && paidUntil > at && returnedAt === null;
  });
  return applying.toSorted((a, b) => getStart(b).getTime() - getStart(a).getTime())[0] ?? null;
}

/** Returns whether a payment of the running year for a plan was returned: the plan is about to be changed back. */
export function isPlanReturned(invoices: ReviewedInvoice[], planSlug: PlanSlug | null): boolean {
  const at = now();
  return invoices.some(({ plan, paidUntil, returnedAt }) => plan === planSlug && paidUntil > at && returnedAt !== null);
}

/** Returns when the plan of an invoice begins to apply. */
function getStart({ isAnnual, periodStart, paidAt }: ReviewedInvoice): Date {
  return isAnnual ? periodStart : paidAt;
}

/** Order of the plans that apply at a time: the first one counts. `credits/monthPlan.sql` has the same. */
const PLAN_ORDER = 'applies_from DESC, stripe_invoice_id IS NULL, id DESC';

const UPSERT_PLANS = prepared(
  'record_paid_plans',
  `INSERT INTO subscription_plans AS p (subscription_id, plan_slug, price_id, stripe_invoice_id, applies_from, applies_until,
                                        returned_at)
   SELECT :subscription, plan, price, invoice, applies_from, applies_until, returned_at
     FROM json_to_recordset(:plans) AS r (plan text, price text, invoice text, applies_from timestamptz,
                                          applies_until timestamptz, returned_at timestamptz)
   ON CONFLICT (subscription_id, stripe_invoice_id) DO UPDATE
     SET plan_slug = excluded.plan_slug, price_id = excluded.price_id, applies_from = excluded.applies_from,
         applies_until = excluded.applies_until, returned_at = excluded.returned_at
   WHERE (p.plan_slug, p.price_id, p.applies_from, p.applies_until, p.returned_at) IS DISTINCT FROM
         (excluded.plan_slug, excluded.price_id, excluded.applies_from, excluded.applies_until, excluded.returned_at)`,
);

/**
 * Records the plans that the invoices of a locked account's subscription pay for, and a change without an invoice,
 * which staff make at the processor.
 * @returns the slug of the plan that applies now, or applied last; null if none was paid.
 */
export async function recordPlanHistory(
  transaction: Transaction,
  subscription: Subscription,
  fetched: ProcessorSubscription,
  invoices: ReviewedInvoice[],
): Promise<PlanSlug | null> {
  const paid = invoices.filter(({ plan }) => plan !== null).toReversed();
  const plans = paid.map((invoice) => ({
    plan: invoice.plan,
    price: invoice.priceId,
    invoice: invoice.id,
    applies_from: getStart(invoice),
    applies_until: invoice.paidUntil,
    returned_at: invoice.returnedAt,
  }));
  await runStatement(UPSERT_PLANS, { subscription: subscription.id, plans: JSON.stringify(plans) }, transaction);
  const current = await findCurrentPlan(transaction, subscription);
  const { plan, priceId, priceFrom, isLatestInvoicePaid, currentPeriodEnd } = fetched;
  const isChanged = current !== undefined && plan !== null && plan !== current.plan_slug && priceFrom <= now();
  // A plan whose invoice is open counts once it is paid.
  if (!isChanged || !isLatestInvoicePaid || isPlanReturned(invoices, plan)) return current?.plan_slug ?? null;
  await recordPlanChange(transaction, subscription, { plan, priceId, until: currentPeriodEnd });
  return plan;
}

/** Records a plan that applies from now on without an invoice. */
export async function recordPlanChange(
  transaction: Transaction,
  { id }: Subscription,
  { plan, priceId = null, until }: { plan: PlanSlug; priceId?: string | null; until: Date },
): Promise<void> {
  await SubscriptionPlan.query(transaction).insert({
    subscription_id: id,
    plan_slug: plan,
    price_id: priceId,
    applies_from: now(),
    applies_until: until,
  });
}

/**
 * Finds the plan that applies now, or the one that applied last. The clock of the processor may be ahead, so that one
 * of the next moment counts.
 */
function findCurrentPlan(transaction: Transaction, { id }: Subscription): Promise<SubscriptionPlan | undefined> {
  return SubscriptionPlan.query(transaction)
    .where({ subscription_id: id })
    .orderByRaw(`least(returned_at, applies_until, cast(? AS timestamptz)) DESC, ${PLAN_ORDER}`, [now()])
    .first()
    .execute();
}

/** A time in which one plan applied. A plan applies again once a later one was returned. */
export interface AppliedPlan {
  paid: SubscriptionPlan;
  from: Date;
  until: Date;
}

/** Lists which plans applied to the subscriptions of an account, and when, oldest first. */
export async function listAppliedPlans(accountId: number): Promise<AppliedPlan[]> {
  const owned = Subscription.query().where({ account_id: accountId }).select('id');
  const rows = await SubscriptionPlan.query()
    .whereIn('subscription_id', owned)
    .orderByRaw(`subscription_id, ${PLAN_ORDER}`);
  const ids = new Set(rows.map((row) => row.subscription_id));
  return [...ids].flatMap((id) => buildTimeline(rows.filter((row) => row.subscription_id === id)));
}

const getEnd = (row: SubscriptionPlan): Date => row.returned_at ?? row.applies_until;

/** @param history the plans of one subscription, of which the first one counts where two apply. */
function buildTimeline(history: SubscriptionPlan[]): AppliedPlan[] {
  const times = [...new Set(history.flatMap((row) => [row.applies_from.getTime(), getEnd(row).getTime()]))];
  const timeline: AppliedPlan[] = [];
  for (const from of times.toSorted((a, b) => a - b).map((time) => new Date(time))) {
    const last = timeline.at(-1);
    const paid = history.find((row) => row.applies_from <= from && getEnd(row) > from);
    if (last !== undefined && last.until > from) last.until = from;
    if (last !== undefined && last.paid === paid && last.until >= from) last.until = getEnd(paid);
    else if (paid !== undefined) timeline.push({ paid, from, until: getEnd(paid) });
  }
  return timeline;
}
