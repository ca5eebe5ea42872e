import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isOutage } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { rememberRequestId } from '../../lib/logContext.ts';
import { enqueueGeneration } from '../../queues/enqueue.ts';
import { getModelBySlug, priceInCredits } from '../../spec/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import { GENERATION_DEADLINE_MS } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';
import type { Caller } from '../accounts/accounts.ts';
import { chargeAutoTopupForGeneration } from '../billing/autoTopups.ts';
import { keyReusedError } from '../platform/idempotentRequests.ts';
import { type Debit, type CreateInput, type ChargeOutcome, chargeGeneration } from './charge.ts';

/** What became of an order. */
export interface CreateResult {
  generation: Generation;
  /** Whether this is the answer to an earlier request with the same idempotency key: nothing was charged now. */
  isReplay: boolean;
}

/**
 * Charges a generation and queues it, or does neither (spec: Create rules).
 *
 * The row that it leaves is the outbox: the dispatch is enqueued after commit, and again by the sweep if that is lost.
 * @param idempotencyKey of an order that may be sent more than once; the first one that is accepted is charged, and
 *   answers for the others (docs/decisions.md: Idempotency-Key).
 * @param requestId by which the logs of all processes tell of it.
 * @throws ServiceError invalid_api_key, subscription_required, model_unavailable, parallel_limit_reached or
 *   insufficient_credits, in this order of precedence; nothing is charged then. validation_error where the key came
 *   with another order before. internal_error with status 503 where the database is out of reach; its detail says
 *   whether the outcome is certain (docs/decisions.md: A refusal is true). internal_error with status 503 too while
 *   the outcome of an automatic top-up is unknown.
 */
export async function createGeneration(
  caller: Caller,
  input: CreateInput,
  idempotencyKey: string | null = null,
  requestId: string | null = null,
): Promise<CreateResult> {
  const createdAt = now();
  const debit: Debit = {
    uuid: uuidv7(),
    account_id: caller.accountId,
    key_hash: caller.keyHash?.toString('hex') ?? null,
    ...input,
    credits: priceInCredits(input.params),
    created_at: createdAt,
    deadline_at: addMilliseconds(createdAt, GENERATION_DEADLINE_MS[getModelBySlug(input.model).kind]),
    idempotency_key: idempotencyKey,
  };
  if (requestId !== null) rememberRequestId(debit.uuid, requestId);
  const outcome = await chargeWithAutoTopup(debit).catch((error: unknown) => {
    throw isOutage(error) ? databaseUnavailableError(NOT_CREATED_DETAIL, error) : error;
  });
  if (outcome === 'replayed') {
    return replayCreate(debit).catch((error: unknown) => {
      throw isOutage(error) ? databaseUnavailableError(OUTCOME_UNKNOWN_DETAIL, error) : error;
    });
  }
  if (outcome === 'unknown') throw databaseUnavailableError(OUTCOME_UNKNOWN_DETAIL);
  if (outcome !== 'accepted') throw new ServiceError(outcome, rejectionDetails[outcome](debit));
  return dispatchCreated(debit);
}

function dispatchCreated(debit: Debit): CreateResult {
  void enqueueGeneration('generation.dispatch', debit.uuid);
  return { generation: buildQueuedGeneration({ ...debit, credits_charged: debit.credits }), isReplay: false };
}

/**
 * Charges again after an automatic top-up where the balance was too low (spec: Limits).
 * @throws ServiceError internal_error (503) while the outcome of the top-up is unknown: a 402 would say that nothing was
 *   charged, and the card may still be.
 */
async function chargeWithAutoTopup(debit: Debit): Promise<ChargeOutcome> {
  const outcome = await chargeGeneration(debit);
  if (outcome !== 'insufficient_credits') return outcome;
  const topup = await chargeAutoTopupForGeneration(debit.account_id, debit.credits).catch((error: unknown) => {
    // The claim may have been committed, and a claimed top-up is charged by the sweep.
    if (isOutage(error)) throw topupUnknownError(debit);
    throw error;
  });
  if (topup === 'unknown') throw topupUnknownError(debit);
  if (topup === 'none') return outcome;
  const afterTopup = await chargeGeneration(debit);
  if (afterTopup === 'accepted' || afterTopup === 'replayed' || afterTopup === 'unknown') return afterTopup;
  throw new ServiceError(
    afterTopup,
    `${rejectionDetails[afterTopup](debit)} An automatic top-up was charged and credited.`,
  );
}

function topupUnknownError({ credits }: Debit): ServiceError {
  return new ServiceError(
    'internal_error',
    `No generation was created: the balance does not cover its ${credits} credits, and the outcome of the automatic top-up is unknown. Send the request again with the same Idempotency-Key to get the outcome, or look for the top-up in GET /api/ledger/.`,
    { retryAfterSeconds: 60 },
  );
}

/** A generation as it is answered when it has just been created. */
function buildQueuedGeneration({
  uuid,
  model,
  prompt,
  params,
  credits_charged,
  created_at,
}: Pick<Generation, 'uuid' | 'model' | 'prompt' | 'params' | 'credits_charged' | 'created_at'>): Generation {
  return Generation.fromDatabaseJson({
    uuid,
    model,
    prompt,
    params,
    status: 'queued',
    credits_charged,
    created_at,
    completed_at: null,
    output_path: null,
    thumbnail_path: null,
    error_message: null,
    is_watermarked: false,
  });
}

/** The first answer again, if the order is the same. */
async function replayCreate(debit: Debit): Promise<CreateResult> {
  const { account_id, idempotency_key } = debit;
  const first = await Generation.query().findOne({ account_id, idempotency_key });
  // Forgotten just now: it is as good as new.
  if (first === undefined)
    throw new ServiceError('internal_error', 'Please send that again.', { retryAfterSeconds: 1 });
  // It was this very request that was charged, and its answer was lost on the way from the database.
  if (first.uuid === debit.uuid) return dispatchCreated(debit);
  const isSame =
    first.model === debit.model && first.prompt === debit.prompt && isDeepStrictEqual(first.params, debit.params);
  if (!isSame) throw keyReusedError();
  return { generation: buildQueuedGeneration(first), isReplay: true };
}

const NOT_CREATED_DETAIL =
  'The service is out of reach for the moment. No generation was created and no credits were charged. ' +
  'Try again in some seconds.';

const OUTCOME_UNKNOWN_DETAIL =
  'The outcome of this request is unknown: the generation may have been created and charged. Repeat the request with ' +
  'the same Idempotency-Key to get its outcome. Without a key, look for it in the list of generations ' +
  '(GET /api/generations/, over MCP list_library) first: a repeat without the same key may be charged again.';

/** @param error what the database failed with, for the log. */
function databaseUnavailableError(detail: string, error?: unknown): ServiceError {
  if (error !== undefined) logger.error({ error: (error as Error).message }, 'create failed: database out of reach');
  return new ServiceError('internal_error', detail, { retryAfterSeconds: 5 });
}

const rejectionDetails: Record<
  Exclude<ChargeOutcome, 'accepted' | 'replayed' | 'unknown'>,
  (charge: Debit) => string
> = {
  invalid_api_key: () => 'The API key is unknown or revoked.',
  subscription_required: () => 'Generating needs an active subscription: choose a plan, then try again.',
  model_unavailable: ({ model }) => `${model} is unavailable at the moment. No credits were charged; try again later.`,
  parallel_limit_reached: () =>
    'As many generations are under way as the plan allows. Wait until one has finished, then try again.',
  insufficient_credits: ({ credits }) =>
    `The balance does not cover the ${credits} credits of this generation. Add credits, or wait for the next grant.`,
};
