import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { getCatalog, getModelBySlug } from '../../lib/catalog/catalog.ts';
import { v7 as uuidv7 } from 'uuid';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { describeOutage, isOutage } from '../../lib/database/errors.ts';
import { chooseRouteOrder } from '../../gateways/upstreams/index.ts';
import { logger } from '../../lib/logger.ts';
import { rememberTrace } from '../../lib/tracing.ts';
import type { PresentedGeneration } from '../../presenters/generation.ts';
import { enqueueDispatch } from '../../queues/enqueue.ts';
import { requireReleasedCatalog } from '../catalog/releases.ts';
import { ServiceError } from '../../spec/errors.ts';
import { GENERATION_DEADLINE_MS } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';
import { type Caller, requireAllowedModel } from '../accounts/caller.ts';
import { chargeAutoTopupForGeneration } from '../billing/autoTopups.ts';
import { grantDueMonths } from '../credits/renewDuePeriods.ts';
import { keyReusedError } from '../platform/idempotentRequests.ts';
import { buildNotCreatedDetail, buildRejectionError, TOPUP_PROCESSING_DETAIL } from './rejections.ts';
import { chargeGeneration, isSameRequest } from './charge.ts';
import {
  type ChargeOutcome,
  type CreateInput,
  type ChargeRequest,
  describeCredential,
  priceRequest,
} from './chargeRequest.ts';
import { type CheckedRequest, checkRequest } from './requestChecks.ts';

/** Result of a create request. */
export interface CreateResult {
  generation: PresentedGeneration;
  /** True for the response to an earlier request with the same idempotency key: nothing was charged now. */
  isReplay: boolean;
}

/**
 * Charges a generation and queues it, or does neither (spec: Create rules). The row is the outbox: the dispatch is
 * enqueued after the commit, and again by the sweep if that job is lost.
 * @param idempotencyKey makes the request safe to repeat: the first one that is accepted is charged, and the others
 *   receive its response (docs/decisions.md: Idempotency-Key).
 * @param requestId appears in the logs of all processes that work on the generation.
 * @throws ServiceError insufficient_scope if the API key may not use the model; otherwise invalid_api_key,
 *   account_suspended, subscription_required, model_unavailable, parallel_limit_reached, spending_limit_reached or
 *   insufficient_credits, in this order of precedence; nothing is charged then. validation_error if the key was used
 *   for another request. internal_error with status 503 if the database is unavailable; the detail says whether the
 *   outcome is certain (docs/decisions.md: Certainty of rejections). internal_error with status 503 also while the
 *   outcome of an automatic top-up is unknown.
 */
export async function createGeneration(
  caller: Caller,
  input: CreateInput,
  idempotencyKey: string | null = null,
  requestId?: string,
): Promise<CreateResult> {
  requireAllowedModel(caller, input.model);
  const notes: string[] = [];
  let outcome: ChargeOutcome | undefined;
  try {
    await requireReleasedCatalog();
    const checked = await checkRequest(caller, input, idempotencyKey);
    const charge = buildChargeRequest(caller, input, checked, idempotencyKey);
    outcome = checked.isReplay ? 'replayed' : await chargeWithAutoTopup(charge, notes);
    if (outcome === 'accepted') return dispatchCreated(charge, requestId);
    if (outcome === 'replayed') return await replayCreate(charge, requestId);
    throw await buildOutcomeError(outcome, charge, caller, notes);
  } catch (error) {
    if (!isOutage(error)) throw error;
    const { event, reason, retryAfterSeconds } = describeOutage(error);
    logger.error({ err: error }, `create failed: ${event}`);
    // Without an answer of the charge function there is an outcome: `unknown`.
    const detail = outcome === 'replayed' ? OUTCOME_UNKNOWN_DETAIL : buildNotCreatedDetail(idempotencyKey, reason);
    throw new ServiceError('internal_error', [detail, ...notes].join(' '), { retryAfterSeconds });
  }
}

function buildChargeRequest(
  caller: Caller,
  input: CreateInput,
  { params, inputs }: Pick<CheckedRequest, 'params' | 'inputs'>,
  idempotencyKey: string | null,
): ChargeRequest {
  const { max_credits: _, ...stored } = input;
  const order = caller.isTest === true ? undefined : chooseRouteOrder(getModelBySlug(input.model), params);
  return {
    ...beginGeneration(input),
    ...describeCredential(caller),
    ...stored,
    params,
    credits: priceRequest(caller, input),
    is_test: caller.isTest === true,
    catalog_id: getCatalog().id,
    idempotency_key: idempotencyKey,
    ...(order === undefined ? {} : { upstream_order: order }),
    ...(inputs.length === 0 ? {} : { inputs }),
  };
}

/** Returns the identity and the times of a generation that is created now. */
function beginGeneration({ model }: Pick<CreateInput, 'model'>) {
  const createdAt = now();
  // The time in the UUID is that of the creation, so that a range of time is a range of the primary key.
  const uuid = uuidv7({ msecs: createdAt.getTime() });
  rememberTrace(uuid);
  const deadlineMs = GENERATION_DEADLINE_MS[getModelBySlug(model).kind];
  return { uuid, created_at: createdAt, deadline_at: addMilliseconds(createdAt, deadlineMs) };
}

/** @param notes sentences about an automatic top-up, for the client. */
async function buildOutcomeError(
  outcome: Exclude<ChargeOutcome, 'accepted' | 'replayed'>,
  charge: ChargeRequest,
  caller: Caller,
  notes: readonly string[],
): Promise<ServiceError> {
  if (outcome === 'unknown')
    return new ServiceError('internal_error', OUTCOME_UNKNOWN_DETAIL, { retryAfterSeconds: 5 });
  const error =
    outcome === 'input_unavailable'
      ? new ServiceError('validation_error', INPUT_UNAVAILABLE_DETAIL)
      : await buildRejectionError(outcome, charge, caller);
  if (notes.length === 0) return error;
  const { code, message, accountPath } = error;
  return new ServiceError(code, [message, ...notes].join(' '), accountPath === undefined ? {} : { accountPath });
}

function dispatchCreated(charge: ChargeRequest, requestId: string | undefined): CreateResult {
  void enqueueDispatch(charge, { requestId });
  return { generation: buildQueuedGeneration(charge, charge.credits), isReplay: false };
}

/** Attempts to charge a create that other creates deprive of credits that were to cover it. */
const COVERED_ATTEMPTS_MAX = 3;

/** Charges, and charges again if the balance was too low for lack of a month's grant that is due. */
async function chargeWithDueGrants(charge: ChargeRequest): Promise<ChargeOutcome> {
  const outcome = await chargeGeneration(charge);
  if (outcome !== 'insufficient_credits' || !(await grantDueMonths(charge.account_id))) return outcome;
  return chargeGeneration(charge);
}

/**
 * Charges, and charges again after an automatic top-up if the balance was too low (spec: Limits). A purchase that was
 * paid without an event so far may make the top-up needless. While a bank processes an earlier one, the balance is too
 * low: this create has no part in it.
 * @param notes receives what the client should know about the top-up.
 * @throws ServiceError internal_error (503) while the outcome of the top-up is unknown: a 402 would mean that nothing
 *   was charged, and the card may still be.
 */
async function chargeWithAutoTopup(charge: ChargeRequest, notes: string[], attempt = 1): Promise<ChargeOutcome> {
  const outcome = await chargeWithDueGrants(charge);
  if (outcome !== 'insufficient_credits') return outcome;
  const topup = await chargeAutoTopupForGeneration(charge.account_id, charge.credits).catch((error: unknown) => {
    // The claim may have been committed, and a claimed top-up is charged by the sweep.
    if (isOutage(error)) throw topupUnknownError(charge);
    throw error;
  });
  if (topup === 'unknown') throw topupUnknownError(charge);
  if (topup === 'unchecked') throw purchasesUncheckedError(charge);
  if (topup === 'processing') notes.push(TOPUP_PROCESSING_DETAIL);
  if (topup === 'none' && charge.idempotency_key === null) return outcome;
  // Lists are in the order of the charges, and other generations may have been charged meanwhile.
  Object.assign(charge, beginGeneration(charge));
  if (topup === 'covered' && attempt < COVERED_ATTEMPTS_MAX) return chargeWithAutoTopup(charge, notes, attempt + 1);
  if (topup === 'credited') notes.push(TOPUP_CHARGED_DETAIL);
  // Also without a top-up: the same request may have used the one that this request waited for.
  return chargeGeneration(charge);
}

const INPUT_UNAVAILABLE_DETAIL = 'An image of params was deleted meanwhile. Send it again, then repeat the request.';
const TOPUP_CHARGED_DETAIL = 'An automatic top-up was charged and credited.';

export const TOPUP_UNKNOWN_DETAIL = 'the outcome of the automatic top-up is unknown';

function topupUnknownError({ credits }: ChargeRequest): ServiceError {
  return new ServiceError(
    'internal_error',
    `No generation was created: the balance does not cover its ${credits} credits, and ${TOPUP_UNKNOWN_DETAIL}. Send the request again with the same Idempotency-Key to get the outcome, or check GET /api/ledger/ for the top-up.`,
    { retryAfterSeconds: 60 },
  );
}

function purchasesUncheckedError({ idempotency_key: key }: ChargeRequest): ServiceError {
  const reason = 'The balance is too low, and the payment processor does not say whether a purchase was paid.';
  return new ServiceError('internal_error', buildNotCreatedDetail(key, reason), { retryAfterSeconds: 60 });
}

/** Builds the generation for the response to a create. */
function buildQueuedGeneration(
  {
    uuid,
    model,
    prompt,
    params,
    created_at,
    metadata = null,
  }: Pick<Generation, 'uuid' | 'model' | 'prompt' | 'params' | 'created_at'> & Partial<Pick<Generation, 'metadata'>>,
  creditsCharged: number,
): PresentedGeneration {
  return {
    uuid,
    model,
    prompt,
    params,
    status: 'queued',
    credits_charged: creditsCharged,
    created_at,
    completed_at: null,
    output_path: null,
    thumbnail_path: null,
    more_outputs: null,
    error_message: null,
    is_watermarked: false,
    metadata,
  };
}

/** Returns the response to the first request with this key, if this request is the same. */
async function replayCreate(charge: ChargeRequest, requestId: string | undefined): Promise<CreateResult> {
  const { account_id, idempotency_key } = charge;
  const first = await Generation.query().findOne({ account_id, idempotency_key });
  // The key expired between the two statements, so a repeated request creates a new generation.
  if (first === undefined) {
    throw new ServiceError('internal_error', 'The Idempotency-Key has just expired. Send the request again.', {
      retryAfterSeconds: 1,
    });
  }
  // This very request was charged, and the response of the database was lost.
  if (first.uuid === charge.uuid) return dispatchCreated(charge, requestId);
  if (!(await isSameRequest(first, charge))) throw keyReusedError();
  await ensureModelsKnown([first.model]);
  return { generation: buildQueuedGeneration(first, first.credits_charged), isReplay: true };
}

const OUTCOME_UNKNOWN_DETAIL =
  'The outcome of this request is unknown: the generation may have been created and charged. Repeat the request with ' +
  'the same Idempotency-Key to get its outcome. Without a key, look for it in the list of generations ' +
  '(GET /api/generations/, over MCP list_library) first: a repeat without the same key may be charged again.';
