import { processor } from '../../gateways/payments/index.ts';
import { ServiceError } from '../../spec/errors.ts';
import { topupCredits } from '../../spec/topupCredits.ts';
import { Account } from '../../tables/Account.ts';
import { mapProcessorErrors } from '../payments/processorErrors.ts';
import { getCustomerId } from './customers.ts';
import { getActivePlan } from '../credits/entitlement.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';

export interface AutoTopupSettings {
  isEnabled: boolean;
  amountCents: number;
  thresholdCredits: number;
  /** The credits that the amount buys at the rate of the current plan; 0 without a plan. */
  previewCredits: number;
  /** Why the service switched them off; null if it did not. */
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
 * Changes the settings of automatic top-ups. Switching them on clears the declines and the problem.
 * @throws ServiceError subscription_required when switching on without an active subscription or a payment method, or
 * while the account is being deleted or is suspended.
 */
export async function updateAutoTopupSettings(
  accountId: number,
  patch: AutoTopupSettingsPatch,
): Promise<AutoTopupSettings> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  if (Object.keys(patch).length === 0) return toAutoTopupSettings(account);
  if (patch.auto_topup_enabled !== true)
    return toAutoTopupSettings(await Account.query().patchAndFetchById(accountId, patch));
  await assertCanAutoTopUp(account);
  // A deletion or a suspension that has begun meanwhile has switched them off.
  const enabled = await Account.query()
    .patch({ ...patch, auto_topup_declines: 0, auto_topup_problem: null })
    .where({ id: accountId })
    .whereNull('deletion_requested_at')
    .whereNull('suspended_at')
    .returning('*')
    .first();
  if (enabled !== undefined) return toAutoTopupSettings(enabled);
  throw new ServiceError(
    'subscription_required',
    'Automatic top-ups cannot be switched on while the account is being deleted or is suspended. Undo the deletion on the account page first.',
  );
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
