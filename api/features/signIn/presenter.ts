import type { Static } from 'typebox';
import { getActivePlan } from '../../../shared/domain/credits/entitlement.ts';
import { pickOwnerColumns } from '../../../shared/domain/accounts/people.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { Person } from '../../../shared/tables/Person.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import { presentAccountPlan } from '../../../shared/presenters/billingStatus.ts';
import { getUserResponse } from './schemas.ts';

/** Presents a person, with the account that it acts on. */
export function presentUser(
  account: Account,
  person: Person,
  isStaff: boolean,
): Static<ReturnType<typeof getUserResponse>> {
  const plan = getActivePlan(account);
  const user = presentAs(getUserResponse().properties.user, account, {
    ...pickOwnerColumns(person),
    is_staff: isStaff,
    plan: plan && presentAccountPlan(plan),
    credits: { balance: account.balance },
  });
  return { user };
}
