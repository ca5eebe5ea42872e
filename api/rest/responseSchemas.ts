import Type, { type Static } from 'typebox';
import { type GenerationParams, ImageParams, MODEL_SLUGS, VideoParams } from '../../shared/spec/catalog.ts';
import { ERROR_STATUS, type ErrorCode } from '../../shared/spec/errors.ts';
import { PLAN_SLUGS } from '../../shared/spec/plans.ts';
import {
  GENERATION_STATUSES,
  LEDGER_ENTRY_TYPES,
  MODEL_STATUSES,
  ONBOARDING_STEPS,
  SUBSCRIPTION_STATUSES,
} from '../../shared/spec/states.ts';

/**
 * The shapes of answers (spec: Resources and their fields). `presenters.ts` must make what is written here, the MCP
 * tools and `/api/openapi.json` tell it to clients. A time is a `Date` on our side and a text on theirs.
 */
const ISO_UTC = 'ISO 8601, UTC';
const Uuid = Type.String({ format: 'uuid' });
const Timestamp = Type.Unsafe<Date>({ type: 'string', format: 'date-time', description: ISO_UTC });
const timestampOrNull = (description = ISO_UTC) =>
  Type.Unsafe<Date | null>({ type: ['string', 'null'], format: 'date-time', description });
const textOrNull = (options: Record<string, unknown> = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...options });
const countOrNull = (options: Record<string, unknown> = {}) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], ...options });
const objectOrNull = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: ['object', 'null'], description });

/** The params of a generation as they are shown: with what was filled in. */
const ShownParams = Type.Unsafe<GenerationParams>({
  anyOf: [Type.Object(VideoParams.properties), Type.Object(ImageParams.properties)],
  description: 'What was ordered, with the defaults of what was left out',
});

export const GenerationResponse = Type.Object({
  uuid: Uuid,
  model: Type.Enum([...MODEL_SLUGS]),
  model_name: Type.String(),
  kind: Type.Enum(['video', 'image']),
  prompt: Type.String(),
  params: ShownParams,
  status: Type.Enum([...GENERATION_STATUSES]),
  output_url: textOrNull({ description: 'Where to download it; null until succeeded' }),
  thumbnail_url: textOrNull({
    description: 'A small picture of it; null until succeeded, or where none could be made',
  }),
  credits_charged: Type.Integer(),
  error_message: textOrNull({ description: 'Why it failed; its credits were refunded' }),
  created_at: Timestamp,
  completed_at: timestampOrNull(),
  duration_ms: countOrNull({ description: 'From created_at to completed_at' }),
  is_watermarked: Type.Boolean(),
});

export const PaginationResponse = Type.Object({
  next: textOrNull({ description: 'The address of the next page' }),
  previous: textOrNull({ description: 'The address of the page before' }),
  current_page: Type.Integer({ description: 'From 1' }),
  total_pages: Type.Integer(),
  total_items: Type.Integer(),
});

/** A list's envelope. */
export const pageResponse = <Item extends Type.TSchema>(item: Item) =>
  Type.Object({ pagination: PaginationResponse, data: Type.Array(item) });

export const ModelResponse = Type.Object({
  uuid: Uuid,
  slug: Type.Enum([...MODEL_SLUGS], { description: 'Sent as model when creating a generation' }),
  name: Type.String(),
  provider: Type.String({ description: 'Who makes what it makes' }),
  kind: Type.Enum(['video', 'image']),
  description: Type.String(),
  credits_base: Type.Integer({ description: 'The cheapest generation' }),
  status: Type.Enum([...MODEL_STATUSES], { description: 'Only an offline one refuses creates' }),
  sort_order: Type.Integer(),
  params_schema: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    properties: {
      durations: { type: 'array', items: { type: 'integer' }, description: 'Seconds' },
      resolutions: { type: 'array', items: { type: 'string' } },
      audio: { type: 'boolean', description: 'Whether there can be sound' },
      aspect_ratios: { type: 'array', items: { type: 'string' } },
    },
    required: ['resolutions', 'aspect_ratios'],
    description: 'The accepted values',
  }),
});

export const ApiKeyResponse = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  prefix: Type.String({ description: 'The first 12 characters of the key' }),
  last_used_at: timestampOrNull('Noted at most once in 60 seconds'),
  revoked: Type.Boolean(),
  created_at: Timestamp,
});

export const CreatedApiKeyResponse = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  key: Type.String({ pattern: '^svc_[0-9a-f]{40}$', description: 'The key itself, told only now' }),
  prefix: Type.String(),
  created_at: Timestamp,
});

export const RevokedResponse = Type.Object({ revoked: Type.Boolean({ const: true }) });

export const LedgerEntryResponse = Type.Object({
  uuid: Uuid,
  entry_type: Type.Enum([...LEDGER_ENTRY_TYPES]),
  amount: Type.Integer({ description: 'Credits, signed: a burn is negative' }),
  balance_after: Type.Integer(),
  description: Type.String(),
  created_at: Timestamp,
});

export const UsageResponse = Type.Object({
  plan: objectOrNull(
    Type.Object({
      slug: Type.Enum([...PLAN_SLUGS]),
      name: Type.String(),
      monthly_credits: Type.Integer(),
      parallel_limit: Type.Integer(),
      price_monthly_cents: Type.Integer(),
    }),
    'null without an active subscription',
  ),
  credits: Type.Object({
    balance: Type.Integer(),
    used_this_period: Type.Integer(),
    granted_this_period: Type.Integer(),
    rollover: Type.Integer(),
    period_start: timestampOrNull(),
    period_end: timestampOrNull(),
  }),
  jobs: Type.Object({ in_flight: Type.Integer(), parallel_limit: Type.Integer() }),
  history: Type.Array(
    Type.Object({
      date: Type.String({ format: 'date' }),
      credits_used: Type.Integer(),
      generations: Type.Integer(),
    }),
    { description: 'The last 30 days, today last' },
  ),
  by_model: Type.Array(
    Type.Object({
      model: Type.String({ description: 'Display name' }),
      credits: Type.Integer(),
      count: Type.Integer(),
    }),
  ),
});

export const PlanResponse = Type.Object({
  slug: Type.Enum([...PLAN_SLUGS]),
  name: Type.String(),
  price_monthly_cents: Type.Integer({ description: 'Shown' }),
  price_yearly_cents: Type.Integer({ description: 'Charged: twelve times the monthly price, once a year' }),
  monthly_credits: Type.Integer(),
  parallel_limit: Type.Integer(),
  features: Type.Unsafe<readonly string[]>({ type: 'array', items: { type: 'string' } }),
  highlight: Type.Boolean({ description: 'Presented as the default' }),
});

const AccountPlan = objectOrNull(
  Type.Object({ slug: Type.Enum([...PLAN_SLUGS]), name: Type.String(), parallel_limit: Type.Integer() }),
  'null without an active subscription',
);

export const BillingStatusResponse = Type.Object({
  plan: AccountPlan,
  status: Type.Enum([...SUBSCRIPTION_STATUSES, 'none'], { description: 'none where there never was a subscription' }),
  interval: Type.String({ const: 'yearly' }),
  current_period_end: timestampOrNull(),
  cancel_at_period_end: Type.Boolean(),
  processor: Type.String({ description: 'The payment processor' }),
  has_payment_method: Type.Boolean({ description: 'Whether automatic top-ups can be switched on' }),
});

export const CheckoutResponse = Type.Object({
  checkout_url: textOrNull({ description: 'Where to pay or to confirm; null where nothing is left to be done' }),
  activated: Type.Optional(
    Type.Boolean({ description: 'true where what was asked for is there at once: without a payment processor' }),
  ),
});

export const PortalResponse = Type.Object({
  portal_url: textOrNull({ description: 'null without a payment processor' }),
});

export const TopupSettingsResponse = Type.Object({
  auto_topup_enabled: Type.Boolean(),
  auto_topup_amount_cents: Type.Integer(),
  auto_topup_threshold_credits: Type.Integer(),
  preview_credits: Type.Integer({ description: 'What the amount buys at the rate of the current plan' }),
  auto_topup_problem: Type.Optional(
    Type.String({ description: 'Why we switched automatic top-ups off; there only then' }),
  ),
});

export const ReceivedResponse = Type.Object({ received: Type.Boolean({ const: true }) });

export const UserResponse = Type.Object({
  user: Type.Object({
    uuid: Uuid,
    email: Type.String(),
    first_name: Type.String(),
    language: Type.String(),
    use_case: Type.String(),
    onboarding_step: Type.Enum([...ONBOARDING_STEPS]),
    is_staff: Type.Boolean(),
    social_provider: Type.String({ description: 'google, apple, github, or dev for the local sign-in' }),
    plan: AccountPlan,
    credits: Type.Object({ balance: Type.Integer() }),
    is_affiliate: Type.Boolean(),
  }),
});

export const SocialConfigResponse = Type.Object({
  google: Type.Boolean(),
  apple: Type.Boolean(),
  github: Type.Boolean(),
});

export const ReadyResponse = Type.Object({ status: Type.String({ const: 'ready' }) });

export const HealthResponse = Type.Object({ status: Type.String({ const: 'ok' }), version: Type.String() });

export const EnrollResponse = Type.Object({
  code: Type.String({ description: 'What referral_url ends in' }),
  referral_url: Type.String({ format: 'uri' }),
});

export const AffiliateStatusResponse = Type.Object({
  code: Type.String(),
  referral_url: Type.String({ format: 'uri' }),
  payout_enabled: Type.Boolean({ description: 'Whether commissions can be paid out' }),
  connect_onboarded: Type.Boolean({ description: 'Whether the payment processor knows all that it wants to know' }),
  stats: Type.Object({
    referrals: Type.Integer(),
    active: Type.Integer({ description: 'Of the referrals, those with an active subscription' }),
    lifetime_earnings_cents: Type.Integer(),
    pending_cents: Type.Integer(),
    paid_cents: Type.Integer(),
  }),
  recent: Type.Array(
    Type.Object({
      month: Type.String({ pattern: '^\\d{4}-\\d{2}$' }),
      referrals: Type.Integer(),
      commission_cents: Type.Integer(),
    }),
    { description: 'By month' },
  ),
});

export const OnboardingLinkResponse = Type.Object({
  url: Type.String({ format: 'uri', description: "A page of the payment processor's, good for a short time" }),
});

/** Runs cost us fractions of cents; of their sums whole ones are told. */
const CostCents = Type.Integer({ description: 'Cents, rounded' });

export const MetricsResponse = Type.Object({
  generated_at: Timestamp,
  users: Type.Object({
    total: Type.Integer(),
    new_30d: Type.Integer(),
    onboarding: Type.Object({ profile: Type.Integer(), plan: Type.Integer(), complete: Type.Integer() }),
  }),
  subscriptions: Type.Object({
    active_total: Type.Integer(),
    cancel_at_period_end: Type.Integer(),
    by_plan: Type.Array(
      Type.Object({
        slug: Type.Enum([...PLAN_SLUGS]),
        name: Type.String(),
        count: Type.Integer(),
        yearly_cents: Type.Integer(),
      }),
    ),
  }),
  revenue: Type.Object({
    run_rate_yearly_cents: Type.Integer(),
    effective_monthly_cents: Type.Integer(),
    topups_30d_cents: Type.Integer(),
  }),
  costs: Type.Object({ provider_30d_cents: CostCents, per_active_user_monthly_cents: CostCents }),
  margins: Type.Object({
    monthly_revenue_cents: Type.Integer(),
    monthly_cost_cents: CostCents,
    gross_margin_pct: Type.Number({ description: 'One decimal; 0 where there is no revenue' }),
  }),
  daily: Type.Array(
    Type.Object({
      date: Type.String({ format: 'date' }),
      signups: Type.Integer(),
      new_subscriptions: Type.Integer(),
      credits_used: Type.Integer(),
      provider_cost_cents: CostCents,
    }),
  ),
  by_model: Type.Array(
    Type.Object({
      model: Type.String(),
      generations: Type.Integer(),
      credits: Type.Integer(),
      provider_cost_cents: CostCents,
    }),
  ),
});

/** What every refusal looks like. */
export const ErrorResponse = Type.Object({
  error: Type.String({ description: 'A stable code, such as insufficient_credits' }),
  detail: Type.String({ description: 'A sentence that says what to do' }),
});

/** The same, for an address that refuses with these codes only. */
export const errorResponseFor = (codes: readonly ErrorCode[]) =>
  Type.Object({
    error: Type.Enum([...codes], { description: 'A stable code: go by this' }),
    detail: Type.String({ description: 'A sentence that says what to do; it may change' }),
  });

export const ERROR_CODES = Object.keys(ERROR_STATUS) as ErrorCode[];
