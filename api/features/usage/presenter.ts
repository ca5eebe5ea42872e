import type { Static } from 'typebox';
import type { UsageSummary } from '../../../shared/domain/usage/usageSummary.ts';
import type { Plan } from '../../../shared/spec/plans.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import type { MemberUsage } from '../../../shared/domain/usage/usageByMember.ts';
import type { KeyUsage } from '../../../shared/domain/usage/usageByKey.ts';
import { KeyUsageResponse, type getUsageResponse, MemberUsageResponse } from './schemas.ts';

export function presentUsage({
  account,
  plan,
  parallelLimit,
  history,
  byModel,
}: UsageSummary): Static<ReturnType<typeof getUsageResponse>> {
  return {
    plan: plan && presentUsagePlan(plan),
    credits: {
      balance: account.balance,
      used_this_period: account.period_used,
      granted_this_period: account.period_granted,
      rollover: account.period_rollover,
      period_start: account.period_start,
      period_end: account.period_end,
    },
    jobs: { in_flight: account.in_flight, parallel_limit: parallelLimit },
    history: history.map((day) => ({ date: day.date, credits_used: day.credits, generations: day.generations })),
    by_model: byModel.map((sum) => ({ model: sum.model, credits: sum.credits, count: sum.generations })),
  };
}

export function presentKeyUsage(row: KeyUsage): Static<typeof KeyUsageResponse> {
  return presentAs(KeyUsageResponse, row, { revoked: row.revoked_at !== null, count: row.generations });
}

export function presentMemberUsage(row: MemberUsage): Static<typeof MemberUsageResponse> {
  return presentAs(MemberUsageResponse, row, { removed: row.removed_at !== null, count: row.generations });
}

/** The plan of an account with the terms that a summary shows. */
export function presentUsagePlan(plan: Plan) {
  return {
    slug: plan.slug,
    name: plan.name,
    monthly_credits: plan.monthlyCredits,
    parallel_limit: plan.parallelLimit,
    price_monthly_cents: plan.priceMonthlyCents,
  };
}
