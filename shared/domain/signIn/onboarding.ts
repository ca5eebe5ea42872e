import { ServiceError } from '../../spec/errors.ts';
import { ONBOARDING_STEPS, type OnboardingStep } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { getActivePlan } from '../credits/entitlement.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import type { Caller } from '../accounts/caller.ts';
import { assertCredentialUnchanged, roleChangedError } from '../accounts/lockedCredentials.ts';
import { getPerson, lockPerson, patchPerson } from '../accounts/people.ts';

/** Profile fields that people set for themselves. */
interface ProfileInput {
  first_name?: string;
  language?: string;
  use_case?: string;
}

/**
 * Saves the profile form, which completes the `profile` step of the owner. If the account has an active plan, the
 * `plan` step is complete, too.
 */
export async function saveProfile(caller: Caller, profile: ProfileInput): Promise<void> {
  await updateProfile(caller, profile, (account) => {
    if (account.onboarding_step === 'complete' || caller.member?.role !== 'owner') return account.onboarding_step;
    return getActivePlan(account) === null ? 'plan' : 'complete';
  });
}

/**
 * Marks an onboarding step as complete. Repeating a step changes nothing; `profile` is that of the owner.
 * @throws ServiceError subscription_required for `plan` without an active subscription: it cannot be skipped.
 * @throws ServiceError validation_error for `plan` before `profile`.
 */
export async function completeOnboardingStep(
  caller: Caller,
  step: Exclude<OnboardingStep, 'complete'>,
  profile: ProfileInput = {},
): Promise<void> {
  await updateProfile(caller, profile, (account) => {
    const position = ONBOARDING_STEPS.indexOf(step);
    const reached = ONBOARDING_STEPS.indexOf(account.onboarding_step);
    if (position > reached) {
      throw new ServiceError('validation_error', `step_completed: complete ${account.onboarding_step} first.`, {
        field: 'step_completed',
      });
    }
    if (position < reached || (step === 'profile' && caller.member?.role !== 'owner')) return account.onboarding_step;
    if (step === 'plan' && getActivePlan(account) === null) {
      throw new ServiceError('subscription_required', 'Choose a plan first: this step cannot be skipped.');
    }
    return ONBOARDING_STEPS[position + 1] as OnboardingStep;
  });
}

/**
 * Changes the profile of the person behind a session, and the step of the account.
 * @param decideStep default: the step stays as it is.
 * @throws ServiceError validation_error if the account is being deleted; as `withAccountOfCaller` if the session or
 *   its rights have ended meanwhile.
 */
export async function updateProfile(
  caller: Caller,
  profile: ProfileInput,
  decideStep = (account: Account): OnboardingStep => account.onboarding_step,
): Promise<void> {
  const { id } = await getPerson(caller);
  await Account.transaction(async (transaction) => {
    const locked = await lockPerson(transaction, id);
    const account = locked.accounts.find((one) => one.id === caller.accountId);
    if (account === undefined) throw roleChangedError();
    await assertCredentialUnchanged(transaction, caller, account);
    assertNotDeleting(account);
    const step = decideStep(account);
    if (step !== account.onboarding_step) await account.$query(transaction).patch({ onboarding_step: step });
    if (Object.keys(profile).length > 0) await patchPerson(transaction, locked, profile);
  });
}
