/** The states of the specification's "States and transitions", as the database stores them. */

export const GENERATION_STATUSES = ['queued', 'succeeded', 'failed'] as const;
export type GenerationStatus = (typeof GENERATION_STATUSES)[number];

export const MODEL_STATUSES = ['online', 'degraded', 'offline'] as const;
export type ModelStatus = (typeof MODEL_STATUSES)[number];

export const LEDGER_ENTRY_TYPES = ['grant', 'burn', 'refund', 'rollover', 'expiry', 'topup'] as const;
export type LedgerEntryType = (typeof LEDGER_ENTRY_TYPES)[number];

/** In order: completing a step leads to the next one. */
export const ONBOARDING_STEPS = ['profile', 'plan', 'complete'] as const;
export type OnboardingStep = (typeof ONBOARDING_STEPS)[number];

export const SUBSCRIPTION_STATUSES = ['active', 'past_due', 'canceled', 'unpaid', 'incomplete'] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

/** Statuses in which credits may be spent. */
export const LIVE_SUBSCRIPTION_STATUSES: readonly SubscriptionStatus[] = ['active', 'past_due'];

/** Time that a spending limit is about: a UTC day, a UTC month, or all time. */
export const SPENDING_PERIODS = ['day', 'month', 'total'] as const;
export type SpendingPeriod = (typeof SPENDING_PERIODS)[number];
