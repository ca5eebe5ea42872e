import type { Static } from 'typebox';
import { getActivePlan } from '../../../shared/domain/credits/entitlement.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import { presentAccountPlan } from '../../../shared/presenters/billingStatus.ts';
import type { getUserResponse } from './schemas.ts';

export function presentUser(account: Account, isStaff: boolean): Static<ReturnType<typeof getUserResponse>> {
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
