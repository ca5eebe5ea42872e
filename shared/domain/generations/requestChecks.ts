import {
  isModerationEnabled,
  ModerationError,
  type ModerationInput,
  type ModerationVerdict,
  requestVerdict,
} from '../../gateways/moderation/moderation.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { moderationDuration } from '../../lib/metrics.ts';
import { getModelBySlug } from '../../lib/catalog/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { GenerationParams } from '../../spec/catalog.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import type { Caller } from '../accounts/caller.ts';
import {
  type GenerationInput,
  type ParsedInputs,
  parseInputs,
  type PreparedInput,
  prepareInputs,
} from '../uploads/prepareInputs.ts';
import { buildImageUrl } from '../uploads/uploadAddresses.ts';
import { buildNotCreatedDetail, buildRejectionError } from './rejections.ts';
import { type CreateInput, priceRequest } from './chargeRequest.ts';
import { type Admission, readAdmission } from './readAdmission.ts';

/** A create request that may be charged. */
export interface CheckedRequest {
  /** Parameters as responses show them. */
  params: GenerationParams;
  /** Images, decoded and stored. */
  inputs: readonly GenerationInput[];
  /** True if an earlier request used the idempotency key: nothing else was checked. */
  isReplay: boolean;
}

/** Time for which the moderation service can read the images of a request. */
const MODERATION_ADDRESS_MS = 10 * MINUTE_MS;

/**
 * Checks a create before its charge: its price against `max_credits`, its images, and its content by the moderation
 * service. Takes no time without any of them. A request that repeats an earlier one passes: it gets the response of
 * that time.
 * @throws ServiceError validation_error, content_rejected, or internal_error (503) without a decision; before those
 *   invalid_api_key and account_suspended, so that only callers with valid credentials have content moderated. With
 *   images also what the charge would reject now, before any image is fetched.
 */
export async function checkRequest(
  caller: Caller,
  input: CreateInput,
  idempotencyKey: string | null,
): Promise<CheckedRequest> {
  requireTestUpstream(caller);
  const { params, inputs: requested } = parseRequestInputs(caller.accountId, input);
  const isTooExpensive = exceedsPriceLimit(caller, input);
  if (isTooExpensive && idempotencyKey === null) throw priceLimitError(caller, input);
  if (!isTooExpensive && !isModerationEnabled() && requested.length === 0)
    return { params, inputs: [], isReplay: false };
  const admission = await readAdmission(caller, input, idempotencyKey);
  const { outcome, uuid } = admission;
  if (outcome === 'replayed') return { params, inputs: [], isReplay: true };
  if (isTooExpensive) throw priceLimitError(caller, input);
  if (requested.length > 0) await requireAdmission(caller, admission, input);
  const images = await prepareInputs(caller.accountId, requested);
  if (isModerationEnabled()) await moderate(uuid, { ...input, params }, images, idempotencyKey);
  const inputs = images.map(({ role, position, upload_uuid }) => ({ role, position, upload_uuid }));
  return { params, inputs, isReplay: false };
}

/**
 * Rejects what the charge would reject now because of the account, so that a client that waits for a free slot has no
 * images fetched and stored with each attempt. An automatic top-up may still cover the price.
 */
async function requireAdmission(caller: Caller, admission: Admission, input: CreateInput): Promise<void> {
  const { outcome, auto_topup: topup } = admission;
  if (outcome === 'accepted' || outcome === 'replayed') return;
  // An outage may end while the images are prepared; an image that cannot be used is the better answer until then.
  if (outcome === 'model_unavailable') return;
  if (outcome === 'insufficient_credits' && topup !== 'none') return;
  const request = { model: input.model, credits: priceRequest(caller, input) };
  throw await buildRejectionError(outcome, request, caller);
}

/**
 * Parses the image parameters of a request. Reads and fetches nothing.
 * @throws ServiceError validation_error
 */
export function parseRequestInputs(accountId: number, { model, params }: CreateInput): ParsedInputs {
  return parseInputs(accountId, getModelBySlug(model).inputs, params);
}

/** @throws ServiceError validation_error if the price is above `max_credits`. */
export function requirePriceWithinLimit(caller: Caller, input: CreateInput): void {
  if (exceedsPriceLimit(caller, input)) throw priceLimitError(caller, input);
}

/** @throws ServiceError model_unavailable for a test key while no test upstream is configured. */
export function requireTestUpstream({ isTest }: Caller): void {
  if (isTest !== true || config.TEST_UPSTREAM_URL !== undefined) return;
  throw new ServiceError('model_unavailable', 'Test mode is currently unavailable. Try again later.');
}

function exceedsPriceLimit(caller: Caller, input: CreateInput): boolean {
  return input.max_credits !== undefined && priceRequest(caller, input) > input.max_credits;
}

function priceLimitError(caller: Caller, input: CreateInput): ServiceError {
  const detail = `max_credits is ${input.max_credits}, but this generation costs ${priceRequest(caller, input)} credits. Raise max_credits, or choose a cheaper model or params. This request was not charged.`;
  return new ServiceError('validation_error', detail, { field: 'max_credits' });
}

/**
 * @throws ServiceError content_rejected; internal_error (503) without a decision, unless MODERATION_ON_ERROR is
 *   `allow`.
 */
async function moderate(
  account: string,
  input: CreateInput,
  images: readonly PreparedInput[],
  idempotencyKey: string | null,
): Promise<void> {
  const expiresAt = addMilliseconds(now(), MODERATION_ADDRESS_MS);
  const inputs = await Promise.all(
    images.map(async ({ role, upload }) => ({ role, url: await buildImageUrl(upload, expiresAt) })),
  );
  const verdict = await requestMeasuredVerdict(account, input, inputs);
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
async function requestMeasuredVerdict(
  account: string,
  input: CreateInput,
  inputs: readonly ModerationInput[],
): Promise<ModerationVerdict | null> {
  const { model, prompt, params } = input;
  const stopTimer = moderationDuration.startTimer();
  try {
    const { kind } = getModelBySlug(model);
    const verdict = await requestVerdict({ account, model, kind, prompt, params, inputs });
    stopTimer({ outcome: verdict.isAllowed ? 'allowed' : 'denied' });
    return verdict;
  } catch (error) {
    if (!(error instanceof ModerationError)) throw error;
    stopTimer({ outcome: 'failed' });
    logger.warn({ problem: error.message, policy: config.MODERATION_ON_ERROR }, 'moderation request failed');
    return null;
  }
}
