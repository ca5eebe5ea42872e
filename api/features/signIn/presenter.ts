import type { Static } from 'typebox';
import { getActivePlan } from '../../../shared/domain/credits/entitlement.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import { presentAccountPlan } from '../../../shared/presenters/billingStatus.ts';
import { getUserResponse } from './schemas.ts';

export function presentUser(account: Account, isStaff: boolean): Static<ReturnType<typeof getUserResponse>> {
  const plan = getActivePlan(account);
  const user = presentAs(getUserResponse().properties.user, account, {
    is_staff: isStaff,
    plan: plan && presentAccountPlan(plan),
    credits: { balance: account.balance },
  });
  return { user };
}
