import { ServiceError } from '../../spec/errors.ts';
import { ONBOARDING_STEPS, type OnboardingStep } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { getActivePlan } from '../credits/entitlement.ts';
import { assertNotDeleting, type ProfileInput } from '../accounts/accounts.ts';

/**
 * Saves the profile form, which completes the `profile` step. If the account has an active plan, the `plan` step is
 * complete, too.
 */
export async function saveProfile(accountId: number, profile: ProfileInput): Promise<Account> {
  return Account.transaction(async (transaction) => {
    const account = await Account.query(transaction).findById(accountId).forNoKeyUpdate().throwIfNotFound();
    if (account.erased_at !== null) return account;
    assertNotDeleting(account);
    const next = getActivePlan(account) === null ? 'plan' : 'complete';
    const isDone = account.onboarding_step === 'complete';
    return account.$query(transaction).patchAndFetch({ ...profile, ...(isDone ? {} : { onboarding_step: next }) });
  });
}

/**
 * Marks an onboarding step as complete. Repeating a step, or an earlier one, changes nothing.
 * @throws ServiceError subscription_required for `plan` without an active subscription: it cannot be skipped.
 * @throws ServiceError validation_error for `plan` before `profile`.
 */
export async function completeOnboardingStep(
  accountId: number,
  step: Exclude<OnboardingStep, 'complete'>,
  profile: ProfileInput = {},
): Promise<Account> {
  return Account.transaction(async (transaction) => {
    const account = await Account.query(transaction).findById(accountId).forNoKeyUpdate().throwIfNotFound();
    if (account.erased_at !== null) return account;
    assertNotDeleting(account);
    const position = ONBOARDING_STEPS.indexOf(step);
    const reached = ONBOARDING_STEPS.indexOf(account.onboarding_step);
    if (position > reached) {
      throw new ServiceError('validation_error', `step_completed: complete ${account.onboarding_step} first.`, {
        field: 'step_completed',
      });
    }
    if (step === 'plan' && getActivePlan(account) === null) {
      throw new ServiceError('subscription_required', 'Choose a plan first: this step cannot be skipped.');
    }
    const next = ONBOARDING_STEPS[Math.max(reached, position + 1)] as OnboardingStep;
    return account.$query(transaction).patchAndFetch({ ...profile, onboarding_step: next });
  });
}
