import type { Static } from 'typebox';
import type { UsageSummary } from '../../shared/domain/credits/usage.ts';
import type { StaffMetrics } from '../../shared/domain/platform/staffMetrics.ts';
import { getReferralUrl } from '../../shared/domain/affiliates/enroll.ts';
import type { AffiliateOverview } from '../../shared/domain/affiliates/overview.ts';
import { getActivePlan, type BillingStatus, PROCESSOR_NAME } from '../../shared/domain/billing/billingStatus.ts';
import { config } from '../../shared/lib/config.ts';
import { type ListPage, countPages } from '../../shared/lib/pagination.ts';
import type { AutoTopupSettings } from '../../shared/domain/billing/autoTopupSettings.ts';
import type { ModelWithStatus } from '../../shared/domain/generations/execution/modelHealth.ts';
import { getModelBySlug } from '../../shared/spec/catalog.ts';
import type { Plan } from '../../shared/spec/plans.ts';
import type { Account } from '../../shared/tables/Account.ts';
import type { Affiliate } from '../../shared/tables/Affiliate.ts';
import type { ApiKey } from '../../shared/tables/ApiKey.ts';
import type { Generation } from '../../shared/tables/Generation.ts';
import type { LedgerEntry } from '../../shared/tables/LedgerEntry.ts';
import type {
  AffiliateStatusResponse,
  ApiKeyResponse,
  BillingStatusResponse,
  CheckoutResponse,
  CreatedApiKeyResponse,
  EnrollResponse,
  GenerationResponse,
  LedgerEntryResponse,
  MetricsResponse,
  ModelResponse,
  PlanResponse,
  TopupSettingsResponse,
  UsageResponse,
  UserResponse,
} from './responseSchemas.ts';

/** Presenters convert rows to the JSON of the interface (spec: Resources and their fields). They make no decisions. */

/** Builds a list response. `path` is the path of the list, for `next` and `previous`. */
export function presentPage<Item>(
  { page, totalItems, items }: ListPage<Item>,
  path: string,
  present: (item: Item) => unknown,
) {
  const totalPages = countPages(totalItems);
  const pageUrl = (number: number) => `${config.BASE_URL}${path}?page=${number}`;
  return {
    pagination: {
      next: page < totalPages ? pageUrl(page + 1) : null,
      previous: page > 1 ? pageUrl(Math.min(page - 1, totalPages)) : null,
      current_page: page,
      total_pages: totalPages,
      total_items: totalItems,
    },
    data: items.map(present),
  };
}

export function presentGeneration(row: Generation): Static<typeof GenerationResponse> {
  const model = getModelBySlug(row.model);
  return {
    uuid: row.uuid,
    model: row.model,
    model_name: model.name,
    kind: model.kind,
    prompt: row.prompt,
    params: row.params,
    status: row.status,
    output_url: buildMediaUrl(row.output_path),
    thumbnail_url: buildMediaUrl(row.thumbnail_path),
    credits_charged: row.credits_charged,
    error_message: row.error_message,
    created_at: row.created_at,
    completed_at: row.completed_at,
    duration_ms: row.completed_at === null ? null : row.completed_at.getTime() - row.created_at.getTime(),
    is_watermarked: row.is_watermarked,
  };
}

export function presentModel(model: ModelWithStatus): Static<typeof ModelResponse> {
  return {
    uuid: model.uuid,
    slug: model.slug,
    name: model.name,
    provider: model.provider,
    kind: model.kind,
    description: model.description,
    credits_base: model.creditsBase,
    status: model.status,
    sort_order: model.sortOrder,
    params_schema: model.paramsSchema,
  };
}

export function presentApiKey(row: ApiKey): Static<typeof ApiKeyResponse> {
  return {
    uuid: row.uuid,
    name: row.name,
    prefix: row.prefix,
    last_used_at: row.last_used_at,
    revoked: row.revoked_at !== null,
    created_at: row.created_at,
  };
}

export function presentCreatedApiKey({ key, row }: { key: string; row: ApiKey }): Static<typeof CreatedApiKeyResponse> {
  return { uuid: row.uuid, name: row.name, key, prefix: row.prefix, created_at: row.created_at };
}

export function presentLedgerEntry(row: LedgerEntry): Static<typeof LedgerEntryResponse> {
  return {
    uuid: row.uuid,
    entry_type: row.entry_type,
    amount: row.amount,
    balance_after: row.balance_after,
    description: row.description,
    created_at: row.created_at,
  };
}

export function presentUsage({ account, history, byModel }: UsageSummary): Static<typeof UsageResponse> {
  const plan = getActivePlan(account);
  return {
    plan: plan && {
      slug: plan.slug,
      name: plan.name,
      monthly_credits: plan.monthlyCredits,
      parallel_limit: plan.parallelLimit,
      price_monthly_cents: plan.priceMonthlyCents,
    },
    credits: {
      balance: account.balance,
      used_this_period: account.period_used,
      granted_this_period: account.period_granted,
      rollover: account.period_rollover,
      period_start: account.period_start,
      period_end: account.period_end,
    },
    jobs: { in_flight: account.in_flight, parallel_limit: plan?.parallelLimit ?? 0 },
    history: history.map((day) => ({ date: day.date, credits_used: day.credits, generations: day.generations })),
    by_model: byModel.map((sum) => ({ model: sum.model, credits: sum.credits, count: sum.generations })),
  };
}

export function presentPlan(plan: Plan): Static<typeof PlanResponse> {
  return {
    slug: plan.slug,
    name: plan.name,
    price_monthly_cents: plan.priceMonthlyCents,
    price_yearly_cents: plan.priceYearlyCents,
    monthly_credits: plan.monthlyCredits,
    parallel_limit: plan.parallelLimit,
    features: plan.features,
    highlight: plan.highlight,
  };
}

export function presentBillingStatus(status: BillingStatus): Static<typeof BillingStatusResponse> {
  return {
    plan: status.plan && presentAccountPlan(status.plan),
    status: status.status,
    interval: 'yearly',
    current_period_end: status.currentPeriodEnd,
    cancel_at_period_end: status.cancelAtPeriodEnd,
    processor: PROCESSOR_NAME,
    has_payment_method: status.hasPaymentMethod,
  };
}

export function presentUser(account: Account, isStaff: boolean): Static<typeof UserResponse> {
  const plan = getActivePlan(account);
  return {
    user: {
      uuid: account.uuid,
      email: account.email,
      first_name: account.first_name,
      language: account.language,
      use_case: account.use_case,
      onboarding_step: account.onboarding_step,
      is_staff: isStaff,
      social_provider: account.social_provider,
      plan: plan && presentAccountPlan(plan),
      credits: { balance: account.balance },
      is_affiliate: account.is_affiliate,
    },
  };
}

/** Presents the staff metrics. Money is in whole cents; provider costs are stored with fractions and rounded here. */
export function presentMetrics(metrics: StaffMetrics): Static<typeof MetricsResponse> {
  const { users, subscriptions, revenue, costs, margins } = metrics;
  return {
    generated_at: metrics.generatedAt,
    users: { total: users.total, new_30d: users.newIn30Days, onboarding: users.onboarding },
    subscriptions: {
      active_total: subscriptions.activeTotal,
      cancel_at_period_end: subscriptions.cancelAtPeriodEnd,
      by_plan: subscriptions.byPlan.map(({ plan, count, yearlyCents }) => ({
        slug: plan.slug,
        name: plan.name,
        count,
        yearly_cents: yearlyCents,
      })),
    },
    revenue: {
      run_rate_yearly_cents: revenue.runRateYearlyCents,
      effective_monthly_cents: revenue.effectiveMonthlyCents,
      topups_30d_cents: revenue.topups30DaysCents,
    },
    costs: {
      provider_30d_cents: costs.provider30DaysCents,
      per_active_user_monthly_cents: costs.perActiveUserMonthlyCents,
    },
    margins: {
      monthly_revenue_cents: margins.monthlyRevenueCents,
      monthly_cost_cents: margins.monthlyCostCents,
      gross_margin_pct: margins.grossMarginPercent,
    },
    daily: metrics.daily.map((day) => ({
      date: day.date,
      signups: day.signups,
      new_subscriptions: day.newSubscriptions,
      credits_used: day.creditsUsed,
      provider_cost_cents: Math.round(day.providerCostCents),
    })),
    by_model: metrics.byModel.map((model) => ({
      model: model.name,
      generations: model.generations,
      credits: model.credits,
      provider_cost_cents: model.providerCostCents,
    })),
  };
}

export function presentAffiliate(affiliate: Affiliate): Static<typeof EnrollResponse> {
  return { code: affiliate.code, referral_url: getReferralUrl(affiliate) };
}

export function presentAffiliateStatus({
  affiliate,
  isPayoutEnabled,
  stats,
  recent,
}: AffiliateOverview): Static<typeof AffiliateStatusResponse> {
  return {
    ...presentAffiliate(affiliate),
    payout_enabled: isPayoutEnabled,
    connect_onboarded: affiliate.connect_onboarded,
    stats: {
      referrals: stats.referrals,
      active: stats.active,
      lifetime_earnings_cents: stats.lifetimeEarningsCents,
      pending_cents: stats.pendingCents,
      paid_cents: stats.paidCents,
    },
    recent: recent.map((month) => ({
      month: month.month,
      referrals: month.referrals,
      commission_cents: month.commissionCents,
    })),
  };
}

function presentAccountPlan(plan: Plan) {
  return { slug: plan.slug, name: plan.name, parallel_limit: plan.parallelLimit };
}

function buildMediaUrl(path: string | null): string | null {
  return path === null ? null : `${config.CDN_URL}/${path}`;
}

/** Presents a checkout: the page to pay at, or that nothing had to be paid and the change is active. */
export function presentCheckout(url: string | null): Static<typeof CheckoutResponse> {
  return url === null ? { checkout_url: null, activated: true } : { checkout_url: url };
}

export function presentTopupSettings(settings: AutoTopupSettings): Static<typeof TopupSettingsResponse> {
  return {
    auto_topup_enabled: settings.isEnabled,
    auto_topup_amount_cents: settings.amountCents,
    auto_topup_threshold_credits: settings.thresholdCredits,
    preview_credits: settings.previewCredits,
    // Not in the specification. Present only if there is a problem.
    ...(settings.problem === null ? {} : { auto_topup_problem: settings.problem }),
  };
}
