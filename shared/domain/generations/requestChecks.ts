import {
  isModerationEnabled,
  ModerationError,
  type ModerationVerdict,
  requestVerdict,
} from '../../gateways/moderation/moderation.ts';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { moderationDuration } from '../../lib/metrics.ts';
import { getModelBySlug } from '../../lib/catalog/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Caller } from '../accounts/accounts.ts';
import { buildNotCreatedDetail, priceRequest } from './admission.ts';
import type { CreateInput } from './debit.ts';
import { readAdmission } from './readAdmission.ts';

/**
 * Checks a create before its charge: its price against `max_credits`, and its content by the moderation service. Takes
 * no time without either. A request that repeats an earlier one passes both: it gets the response of that time.
 * @returns true if an earlier request used the idempotency key.
 * @throws ServiceError validation_error, content_rejected, or internal_error (503) without a decision; before those
 *   invalid_api_key and account_suspended, so that only callers with valid credentials have content moderated.
 */
export async function checkRequest(
  caller: Caller,
  input: CreateInput,
  idempotencyKey: string | null,
): Promise<boolean> {
  const isTooExpensive = exceedsPriceLimit(input);
  if (isTooExpensive && idempotencyKey === null) throw priceLimitError(input);
  if (!isTooExpensive && !isModerationEnabled()) return false;
  const { outcome, uuid } = await readAdmission(caller, input, idempotencyKey);
  if (outcome === 'replayed') return true;
  if (isTooExpensive) throw priceLimitError(input);
  await moderate(uuid, input, idempotencyKey);
  return false;
}

/** @throws ServiceError validation_error if the price is above `max_credits`. */
export function requirePriceWithinLimit(input: CreateInput): void {
  if (exceedsPriceLimit(input)) throw priceLimitError(input);
}

function exceedsPriceLimit(input: CreateInput): boolean {
  return input.max_credits !== undefined && priceRequest(input) > input.max_credits;
}

function priceLimitError(input: CreateInput): ServiceError {
  const detail = `max_credits is ${input.max_credits}, but this generation costs ${priceRequest(input)} credits. Raise max_credits, or choose a cheaper model or params. This request was not charged.`;
  return new ServiceError('validation_error', detail, { field: 'max_credits' });
}

/** @throws ServiceError content_rejected; internal_error (503) without a decision, unless MODERATION_ON_ERROR is `allow`. */
async function moderate(account: string, input: CreateInput, idempotencyKey: string | null): Promise<void> {
  const verdict = await requestMeasuredVerdict(account, input);
  if (verdict === null && config.MODERATION_ON_ERROR === 'reject') {
    const detail = buildNotCreatedDetail(idempotencyKey, 'The content check is temporarily unavailable.');
    throw new ServiceError('internal_error', detail, { retryAfterSeconds: 5 });
  }
  if (verdict?.isAllowed === false) {
    throw new ServiceError(
      'content_rejected',
      `${verdict.reason} This request was not charged. Change the prompt, then try again.`,
    );
  }
}

/** @returns null if the moderation service did not decide. */
async function requestMeasuredVerdict(account: string, input: CreateInput): Promise<ModerationVerdict | null> {
  const { model, prompt, params } = input;
  const stopTimer = moderationDuration.startTimer();
  try {
    const { kind } = getModelBySlug(model);
    const verdict = await requestVerdict({ account, model, kind, prompt, params, inputs: [] });
    stopTimer({ outcome: verdict.isAllowed ? 'allowed' : 'denied' });
    return verdict;
  } catch (error) {
    if (!(error instanceof ModerationError)) throw error;
    stopTimer({ outcome: 'failed' });
    logger.warn({ problem: error.message, policy: config.MODERATION_ON_ERROR }, 'moderation request failed');
    return null;
  }
}
