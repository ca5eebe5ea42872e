import type { DomainFeature } from '../feature.ts';
import { CREDIT_PERIOD_INVARIANTS } from './creditPeriodInvariants.ts';
import { SUBSCRIPTION_INVARIANTS } from './subscriptionInvariants.ts';
import { TOPUP_INVARIANTS } from './topupInvariants.ts';

export const BILLING: DomainFeature = {
  invariants: [...SUBSCRIPTION_INVARIANTS, ...CREDIT_PERIOD_INVARIANTS, ...TOPUP_INVARIANTS],
};
