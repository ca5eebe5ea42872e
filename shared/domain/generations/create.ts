import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isOutage } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { noteRequest } from '../../lib/trail.ts';
import { ring } from '../../queues/enqueue.ts';
import { modelBySlug, priceInCredits } from '../../spec/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import { JOB_DEADLINE_MS } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';
import type { Caller } from '../accounts.ts';
import { topUpFor } from '../billing/autoTopups.ts';
import { usedForAnother } from '../idempotentRequests.ts';
import { type Charge, type Order, type Outcome, submitCharge } from './charge.ts';

/** What became of an order. */
export interface Creation {
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
  order: Order,
  idempotencyKey: string | null = null,
  requestId: string | null = null,
): Promise<Creation> {
  const createdAt = now();
  const charge: Charge = {
    uuid: uuidv7(),
    account_id: caller.accountId,
    key_hash: caller.keyHash?.toString('hex') ?? null,
    ...order,
    credits: priceInCredits(order.params),
    created_at: createdAt,
    deadline_at: addMilliseconds(createdAt, JOB_DEADLINE_MS[modelBySlug(order.model).kind]),
    idempotency_key: idempotencyKey,
  };
  if (requestId !== null) noteRequest(charge.uuid, requestId);
  const outcome = await chargeOrTopUp(charge).catch((error: unknown) => {
    throw isOutage(error) ? unavailable(NOT_CREATED, error) : error;
  });
  if (outcome === 'replayed') {
    return replay(charge).catch((error: unknown) => {
      throw isOutage(error) ? unavailable(OUTCOME_UNKNOWN, error) : error;
    });
  }
  if (outcome === 'unknown') throw unavailable(OUTCOME_UNKNOWN);
  if (outcome !== 'accepted') throw new ServiceError(outcome, refusals[outcome](charge));
  return accepted(charge);
}

function accepted(charge: Charge): Creation {
  void ring('generation.dispatch', charge.uuid);
  return { generation: asQueued({ ...charge, credits_charged: charge.credits }), isReplay: false };
}

/**
 * Charges again after an automatic top-up where the balance was too low (spec: Limits).
 * @throws ServiceError internal_error (503) while the outcome of the top-up is unknown: a 402 would say that nothing was
 *   charged, and the card may still be.
 */
async function chargeOrTopUp(charge: Charge): Promise<Outcome> {
  const outcome = await submitCharge(charge);
  if (outcome !== 'insufficient_credits') return outcome;
  const topup = await topUpFor(charge.account_id, charge.credits).catch((error: unknown) => {
    // The claim may have been committed, and a claimed top-up is charged by the sweep.
    if (isOutage(error)) throw topupIsUnknown(charge);
    throw error;
  });
  if (topup === 'unknown') throw topupIsUnknown(charge);
  if (topup === 'none') return outcome;
  const afterTopup = await submitCharge(charge);
  if (afterTopup === 'accepted' || afterTopup === 'replayed' || afterTopup === 'unknown') return afterTopup;
  throw new ServiceError(afterTopup, `${refusals[afterTopup](charge)} An automatic top-up was charged and credited.`);
}

function topupIsUnknown({ credits }: Charge): ServiceError {
  return new ServiceError(
    'internal_error',
    `No generation was created: the balance does not cover its ${credits} credits, and the outcome of the automatic top-up is unknown. Send the request again with the same Idempotency-Key to get the outcome, or look for the top-up in GET /api/ledger/.`,
    { status: 503, headers: { 'retry-after': '60' } },
  );
}

/** A generation as it is answered when it has just been created. */
function asQueued({
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
async function replay(charge: Charge): Promise<Creation> {
  const { account_id, idempotency_key } = charge;
  const first = await Generation.query().findOne({ account_id, idempotency_key });
  // Forgotten just now: it is as good as new.
  if (first === undefined) {
    const headers = { 'retry-after': '1' };
    throw new ServiceError('internal_error', 'Please send that again.', { status: 503, headers });
  }
  // It was this very request that was charged, and its answer was lost on the way from the database.
  if (first.uuid === charge.uuid) return accepted(charge);
  const isSame =
    first.model === charge.model && first.prompt === charge.prompt && isDeepStrictEqual(first.params, charge.params);
  if (!isSame) throw usedForAnother();
  return { generation: asQueued(first), isReplay: true };
}

const NOT_CREATED =
  'The service is out of reach for the moment. No generation was created and no credits were charged. ' +
  'Try again in some seconds.';

const OUTCOME_UNKNOWN =
  'The outcome of this request is unknown: the generation may have been created and charged. Repeat the request with ' +
  'the same Idempotency-Key to get its outcome. Without a key, look for it in the list of generations ' +
  '(GET /api/generations/, over MCP list_library) first: a repeat without the same key may be charged again.';

/** @param error what the database failed with, for the log. */
function unavailable(detail: string, error?: unknown): ServiceError {
  if (error !== undefined) logger.error({ error: (error as Error).message }, 'create failed: database out of reach');
  return new ServiceError('internal_error', detail, { status: 503, headers: { 'retry-after': '5' } });
}

const refusals: Record<Exclude<Outcome, 'accepted' | 'replayed' | 'unknown'>, (charge: Charge) => string> = {
  invalid_api_key: () => 'The API key is unknown or revoked.',
  subscription_required: () => 'Generating needs an active subscription: choose a plan, then try again.',
  model_unavailable: ({ model }) => `${model} is unavailable at the moment. No credits were charged; try again later.`,
  parallel_limit_reached: () =>
    'As many generations are under way as the plan allows. Wait until one has finished, then try again.',
  insufficient_credits: ({ credits }) =>
    `The balance does not cover the ${credits} credits of this generation. Add credits, or wait for the next grant.`,
};
