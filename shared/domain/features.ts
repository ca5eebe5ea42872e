import { ACCOUNTS } from './accounts/feature.ts';
import { AFFILIATES } from './affiliates/feature.ts';
import { AUDIT } from './audit/feature.ts';
import { BILLING } from './billing/feature.ts';
import { CREDITS } from './credits/feature.ts';
import type { DomainFeature } from './feature.ts';
import { GENERATIONS } from './generations/feature.ts';
import { PLATFORM } from './platform/feature.ts';
import { SPENDING_LIMITS } from './spendingLimits/feature.ts';
import { USAGE } from './usage/feature.ts';
import { WEBHOOKS } from './webhooks/feature.ts';

/**
 * All subjects that have a feature, in the order in which a check and a download list them. A subject comes after those
 * whose SQL functions it calls.
 */
const FEATURES: readonly DomainFeature[] = [
  ACCOUNTS,
  SPENDING_LIMITS,
  CREDITS,
  GENERATIONS,
  BILLING,
  AFFILIATES,
  WEBHOOKS,
  USAGE,
  PLATFORM,
  AUDIT,
];

/** All functions that a release installs, a called one before its callers. */
export const SQL_FUNCTIONS = FEATURES.flatMap(({ sqlFunctions = [] }) => sqlFunctions);

/** All invariants, in the order in which they are checked and reported. */
export const INVARIANTS = FEATURES.flatMap(({ invariants = [] }) => invariants);
