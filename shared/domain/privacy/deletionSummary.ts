import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Commission } from '../../tables/Commission.ts';
import { Member } from '../../tables/Member.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { canReceivePayouts } from '../affiliates/payouts.ts';
import { getAccount } from '../accounts/accounts.ts';
import { isYearPaid } from '../billing/subscriptionStatus.ts';

/** Consequences of the deletion of an account for its owner. */
export interface DeletionSummary {
  email: string;
  balance: number;
  inFlight: number;
  activeKeys: number;
  /** Members besides the owner. */
  otherMembers: number;
  /** Name of the plan of the current subscription, and the end of its paid time; null if its year is not paid. */
  subscription: { plan: string; until: Date } | null;
  /** Commissions that were not paid out; null without any. */
  commissions: { pendingCents: number; arePaidOut: boolean } | null;
}

/** Collects what the deletion of an account affects, for the page that asks for a confirmation. */
export async function summarizeDeletion(accountId: number): Promise<DeletionSummary> {
  const [account, members, subscription, affiliate] = await Promise.all([
    getAccount(accountId),
    Member.query().where({ account_id: accountId }).whereNull('removed_at').resultSize(),
    Subscription.query().modify('live').findOne({ account_id: accountId }),
    Affiliate.query().findById(accountId),
  ]);
  return {
    email: account.email,
    balance: account.balance,
    inFlight: account.in_flight,
    activeKeys: account.active_key_count,
    otherMembers: members - 1,
    subscription:
      subscription === undefined || !isYearPaid(subscription)
        ? null
        : { plan: getPlanBySlug(subscription.plan_slug).name, until: subscription.paid_until },
    commissions: affiliate === undefined ? null : await summarizeCommissions(affiliate),
  };
}

async function summarizeCommissions(affiliate: Affiliate): Promise<DeletionSummary['commissions']> {
  const outstanding = await Commission.query()
    .where({ affiliate_id: affiliate.account_id })
    .whereNot({ outstanding_cents: 0 })
    .select('outstanding_cents');
  const pendingCents = outstanding.reduce((sum, { outstanding_cents: cents }) => sum + cents, 0);
  return pendingCents <= 0 ? null : { pendingCents, arePaidOut: canReceivePayouts(affiliate) };
}
