import { processor } from '../../gateways/payments/index.ts';
import { ServiceError } from '../../spec/errors.ts';
import { topupCredits } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { getActivePlan } from './billingStatus.ts';
import { getCustomerId } from './customers.ts';
import { mapProcessorErrors } from './processorErrors.ts';

export interface AutoTopupSettings {
  isEnabled: boolean;
  amountCents: number;
  thresholdCredits: number;
  /** What the amount buys at the rate of the plan now; 0 without one. */
  previewCredits: number;
  /** Why we switched them off; null where we did not. */
  problem: string | null;
}

export interface AutoTopupSettingsPatch {
  auto_topup_enabled?: boolean;
  auto_topup_amount_cents?: number;
  auto_topup_threshold_credits?: number;
}

export async function getAutoTopupSettings(accountId: number): Promise<AutoTopupSettings> {
  return toAutoTopupSettings(await Account.query().findById(accountId).throwIfNotFound());
}

/**
 * Changes the settings of automatic top-ups. To switch them on clears what they were switched off for.
 * @throws ServiceError subscription_required when they are to be on without an active subscription or a payment method.
 */
export async function updateAutoTopupSettings(
  accountId: number,
  patch: AutoTopupSettingsPatch,
): Promise<AutoTopupSettings> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  if (Object.keys(patch).length === 0) return toAutoTopupSettings(account);
  const isEnabling = patch.auto_topup_enabled === true;
  if (isEnabling) await assertCanAutoTopUp(account);
  const cleared = isEnabling ? { auto_topup_declines: 0, auto_topup_problem: null } : {};
  return toAutoTopupSettings(await Account.query().patchAndFetchById(accountId, { ...patch, ...cleared }));
}

async function assertCanAutoTopUp(account: Account): Promise<void> {
  if (getActivePlan(account) === null) {
    throw new ServiceError(
      'subscription_required',
      'Automatic top-ups need an active subscription: choose a plan first.',
    );
  }
  const customerId = getCustomerId(account);
  const method = customerId === null ? null : await mapProcessorErrors(processor.findPaymentMethod(customerId));
  // Of a customer that is stored: one that is simulated, or was replaced meanwhile, says nothing about it.
  await Account.query()
    .patch({ has_payment_method: method !== null })
    .where({ id: account.id, stripe_customer_id: customerId });
  if (method !== null) return;
  throw new ServiceError(
    'subscription_required',
    'Automatic top-ups need a payment method on file: add one in the billing portal.',
  );
}

function toAutoTopupSettings(account: Account): AutoTopupSettings {
  const plan = getActivePlan(account);
  return {
    isEnabled: account.auto_topup_enabled,
    amountCents: account.auto_topup_amount_cents,
    thresholdCredits: account.auto_topup_threshold_credits,
    previewCredits: plan === null ? 0 : topupCredits(account.auto_topup_amount_cents, plan),
    problem: account.auto_topup_problem,
  };
}
