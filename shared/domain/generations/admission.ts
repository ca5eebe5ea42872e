import { getModelBySlug } from '../../lib/catalog/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ACCOUNT_SUSPENDED_DETAIL, type Caller, invalidCredentialError } from '../accounts/accounts.ts';
import { buildSubscriptionRequiredError } from '../billing/entitlement.ts';
import { buildWindowUse } from '../spendingLimits/chargeLimits.ts';
import { buildReachedLimitError } from '../spendingLimits/reachedLimitError.ts';
import type { CreateInput, Rejection } from './debit.ts';

/*
 * Price and admission of a request to create a generation, shared by everything that decides about one: the charge
 * statement, the estimate, and the checks before the charge.
 */

/** Returns the price of a request in credits. Test accounts pay nothing. */
export function priceRequest(
  { isTest }: Pick<Caller, 'isTest'>,
  { model, params }: Pick<CreateInput, 'model' | 'params'>,
): number {
  return isTest === true ? 0 : getModelBySlug(model).price(params);
}

/** Query for the models that an upstream can run now. */
export const USABLE_MODELS = `SELECT DISTINCT model FROM upstream_health
      WHERE status <> 'offline' AND probed_at > :stale AND (circuit_open_until IS NULL OR circuit_open_until <= :now)`;

/** Part of the rule about spending limits. */
const LIMIT_RULES = {
  /** Names requests whose limits another statement must check. */
  detected: `WHEN a.spending_limit_count > 0 AND (r.key_hash IS NOT NULL OR r.oauth_client_id IS NOT NULL) THEN 'limits_apply'`,
  /** Leaves the decision to a later part of the statement. */
  'checked later': '',
  /** Reads `l`, the limit of the request, without a lock. */
  read: `WHEN ${buildWindowUse(':now')} + r.credits > l.credits THEN 'spending_limit_reached'`,
};

/**
 * Builds the expression that decides about a request `r` of the account `a`, in the order of precedence of the errors.
 * `usable` is the row of the model, if it can be run. A test account needs no subscription, and the test upstream is not
 * probed.
 * @param hasKeys true if `first` is the earlier generation with the same idempotency key.
 * @param hasInputs true if `missing` is the request, if one of its images was deleted.
 */
export const buildAdmissionRule = ({
  hasKeys,
  hasInputs,
  limits,
}: {
  hasKeys: boolean;
  hasInputs: boolean;
  limits: keyof typeof LIMIT_RULES;
}): string =>
  `CASE WHEN NOT r.is_credential_valid THEN 'invalid_api_key'
                 WHEN a.suspended_at IS NOT NULL THEN 'account_suspended'
                 ${hasKeys ? "WHEN first.uuid IS NOT NULL THEN 'replayed'" : ''}${hasInputs ? " WHEN missing.uuid IS NOT NULL THEN 'input_unavailable'" : ''}
                 WHEN a.live_account_id IS NULL AND (a.spendable_until IS NULL OR a.spendable_until <= :now)
                   OR a.deletion_requested_at IS NOT NULL
                   THEN 'subscription_required'
                 WHEN a.live_account_id IS NULL AND usable.model IS NULL THEN 'model_unavailable'
                 WHEN a.in_flight >= a.parallel_limit THEN 'parallel_limit_reached'
                 ${LIMIT_RULES[limits]}
                 WHEN a.balance < r.credits THEN 'insufficient_credits'
                 ELSE 'accepted' END`;

/** Builds the error of a rejection, for the client. */
export async function buildRejectionError(
  rejection: Rejection,
  request: { model: string; credits: number },
  caller: Caller,
): Promise<ServiceError> {
  if (rejection === 'invalid_api_key') return invalidCredentialError(caller);
  if (rejection === 'subscription_required') {
    const account = await Account.query().findById(caller.accountId).throwIfNotFound();
    const detail = 'Creating generations requires an active subscription. Choose a plan, then try again.';
    return buildSubscriptionRequiredError(account, detail);
  }
  if (rejection === 'spending_limit_reached') return buildReachedLimitError(caller, request.credits);
  return new ServiceError(rejection, REJECTION_DETAILS[rejection](request));
}

const REJECTION_DETAILS: Record<
  Exclude<Rejection, 'invalid_api_key' | 'subscription_required' | 'spending_limit_reached'>,
  (request: { model: string; credits: number }) => string
> = {
  account_suspended: () => ACCOUNT_SUSPENDED_DETAIL,
  model_unavailable: ({ model }) => `${model} is currently unavailable. No credits were charged. Try again later.`,
  parallel_limit_reached: () =>
    'As many generations are in progress as the account may have at once. Wait until one has finished, then try again.',
  insufficient_credits: ({ credits }) =>
    `The balance does not cover the ${credits} credits of this generation. Top up, or wait for the next grant.`,
};

/** Follows the detail of `insufficient_credits` while a bank processes an automatic top-up. */
export const TOPUP_PROCESSING_DETAIL =
  'The bank is still processing an automatic top-up, which can take days; its credits are added once it is paid.';

/**
 * Returns the detail of a create that failed before its charge.
 * @param idempotencyKey an earlier request with the same key may still be committing, so its outcome is not certain.
 */
export function buildNotCreatedDetail(idempotencyKey: string | null, reason: string): string {
  return idempotencyKey === null
    ? `${reason} No generation was created and no credits were charged. Try again in a few seconds.`
    : `${reason} This attempt created no generation and charged no credits; an earlier one with the same Idempotency-Key may have. Repeat the request with the same Idempotency-Key to get its outcome.`;
}
