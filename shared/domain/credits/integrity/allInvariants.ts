import { AFFILIATE_INVARIANTS } from './affiliates.ts';
import { LEDGER_INVARIANTS } from './ledger.ts';
import { GENERATION_INVARIANTS } from './generations.ts';
import { CREDIT_PERIOD_INVARIANTS } from './creditPeriods.ts';
import type { Invariant } from './invariant.ts';
import { API_KEY_INVARIANTS } from './apiKeys.ts';
import { NOTIFICATION_INVARIANTS } from './notifications.ts';
import { SPENDING_LIMIT_INVARIANTS } from './spendingLimits.ts';
import { STAFF_ACTION_INVARIANTS } from './staffActions.ts';
import { STAFF_METRIC_INVARIANTS } from './staffMetrics.ts';
import { SUSPENSION_INVARIANTS } from './suspensions.ts';
import { SUBSCRIPTION_INVARIANTS } from './subscriptions.ts';
import { TEST_ACCOUNT_INVARIANTS } from './testAccounts.ts';
import { TOPUP_INVARIANTS } from './topups.ts';
import { USAGE_INVARIANTS } from './usage.ts';

/** All invariants, in the order in which they are checked and reported. */
export const INVARIANTS: readonly Invariant[] = [
  ...LEDGER_INVARIANTS,
  ...GENERATION_INVARIANTS,
  ...SUBSCRIPTION_INVARIANTS,
  ...CREDIT_PERIOD_INVARIANTS,
  ...TOPUP_INVARIANTS,
  ...AFFILIATE_INVARIANTS,
  ...API_KEY_INVARIANTS,
  ...USAGE_INVARIANTS,
  ...SPENDING_LIMIT_INVARIANTS,
  ...STAFF_METRIC_INVARIANTS,
  ...STAFF_ACTION_INVARIANTS,
  ...SUSPENSION_INVARIANTS,
  ...NOTIFICATION_INVARIANTS,
  ...TEST_ACCOUNT_INVARIANTS,
];
