import { processor } from '../../gateways/payments/index.ts';
import { ServiceError } from '../../spec/errors.ts';
import { topupCredits } from '../../spec/topupCredits.ts';
import { Account } from '../../tables/Account.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { assertFormNotStale } from '../accounts/staleForm.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { getCustomerId } from './customers.ts';
import { buildSubscriptionRequiredError, getActivePlan } from '../credits/entitlement.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';

type Settings = Pick<
  Account,
  'auto_topup_enabled' | 'auto_topup_amount_cents' | 'auto_topup_threshold_credits' | 'auto_topup_problem'
>;

/** Settings with the credits that the amount buys at the rate of the current plan; 0 without a plan. */
export type AutoTopupSettings = Settings & { preview_credits: number };

export interface AutoTopupSettingsPatch {
  auto_topup_enabled?: boolean;
  auto_topup_amount_cents?: number;
  auto_topup_threshold_credits?: number;
  /** Settings that the caller has read, from {@link formatAutoTopupSettings}. Without it, all are overwritten. */
  expected?: string;
}

/** Formats the settings, such as `on/5000/100`, to detect later changes. */
export function formatAutoTopupSettings(settings: Settings): string {
  const { auto_topup_enabled: isEnabled, auto_topup_amount_cents: cents } = settings;
  return `${isEnabled ? 'on' : 'off'}/${cents}/${settings.auto_topup_threshold_credits}`;
}

export async function getAutoTopupSettings(accountId: number): Promise<AutoTopupSettings> {
  return addPreview(await Account.query().findById(accountId).throwIfNotFound());
}

/**
 * Changes the settings of automatic top-ups. Switching them on clears the declines and the problem.
 * @throws ServiceError subscription_required when switching on without an active subscription or a payment method, or
 * while the account is being deleted; validation_error if they would be changed and are not the expected ones;
 * insufficient_scope or invalid_api_key if the caller's role or credential changed meanwhile.
 */
export async function updateAutoTopupSettings(
  caller: Caller,
  { expected, ...patch }: AutoTopupSettingsPatch,
  origin: RequestOrigin,
): Promise<AutoTopupSettings> {
  const { accountId } = caller;
  const account = await Account.query().findById(accountId).throwIfNotFound();
  if (Object.keys(patch).length === 0) return addPreview(account);
  const isEnabling = patch.auto_topup_enabled === true;
  if (isEnabling) await assertCanAutoTopUp(account);
  return withAccountOfCaller(caller, async (transaction, locked) => {
    // The subscription may have ended meanwhile, or a deletion begun.
    if (isEnabling) assertHasPlan(locked);
    const cleared = isEnabling ? { auto_topup_declines: 0, auto_topup_problem: null } : {};
    const present = formatAutoTopupSettings(locked);
    const changed = await locked.$query(transaction).patchAndFetch({ ...patch, ...cleared });
    const intended = formatAutoTopupSettings(changed);
    assertFormNotStale('The settings of automatic top-ups were changed', { expected, present, intended });
    const details = {
      state: changed.auto_topup_enabled ? 'on' : 'off',
      amount_cents: changed.auto_topup_amount_cents,
      threshold_credits: changed.auto_topup_threshold_credits,
    };
    await recordSecurityEvent(transaction, {
      accountId,
      event: 'auto_topup_changed',
      origin,
      details,
      subject: details,
    });
    return addPreview(changed);
  });
}

function assertHasPlan(account: Account): void {
  if (getActivePlan(account) !== null) return;
  throw buildSubscriptionRequiredError(account, 'Automatic top-ups need an active subscription: choose a plan first.');
}

async function assertCanAutoTopUp(account: Account): Promise<void> {
  assertHasPlan(account);
  const customerId = getCustomerId(account);
  const method = customerId === null ? null : await mapProcessorErrors(processor.findPaymentMethod(customerId));
  // Matches only the stored customer: not a simulated one, nor one that was replaced meanwhile.
  await changeSubscription(account.id, async (transaction) => {
    await Account.query(transaction)
      .patch({ has_payment_method: method !== null })
      .where({ id: account.id, stripe_customer_id: customerId });
  });
  if (method !== null) return;
  throw new ServiceError(
    'subscription_required',
    'Automatic top-ups need a payment method on file: add one in the billing portal.',
  );
}

function addPreview(account: Account): AutoTopupSettings {
  const plan = getActivePlan(account);
  const credits = plan === null ? 0 : topupCredits(account.auto_topup_amount_cents, plan);
  return Object.assign(account, { preview_credits: credits });
}
