import { LIMITED_CREATE, type ObservedKey } from '../clientStore.ts';
import { type RestResponse, sendWithKey, pickKey, type RestRequest } from '../restRequests.ts';
import {
  type CreateRequest,
  markIfStale,
  newCreateRequest,
  recordCreateResponse,
  recordSent,
} from '../createRequests.ts';
import { DENIED_SUBJECT } from '../../moderation.ts';
import { isLimited, isRestricted } from '../customers.ts';
import { retryUntilKnown } from '../retry.ts';
import { reportViolation, newStepId, type Step } from '../clientState.ts';

/** Number of simultaneous creates in a burst. */
const BURST_SIZE = 10;
const PARALLEL_REQUESTS = 4;

/**
 * Sends a create. One with an idempotency key is retried until its outcome is known, and now and then repeated
 * afterwards.
 */
export async function createGeneration(step: Step): Promise<void> {
  const { random } = step;
  const request = newCreateRequest(step, random.chance(0.6) ? newStepId(step) : null);
  if (request.observed.idempotencyKey === null) {
    await sendCreate(step, request);
    return;
  }
  const response = await retryUntilKnown(step, () => sendCreate(step, request));
  if (response.isGood && random.chance(0.15)) await sendCreate(step, request);
}

/** Sends many creates of one account at the same moment, over all addresses. */
export async function createMany(step: Step): Promise<void> {
  const requests = Array.from({ length: BURST_SIZE }, (_, index) =>
    newCreateRequest(step, index % 2 === 0 ? null : newStepId(step)),
  );
  await Promise.all(requests.map((order) => sendCreate(step, order)));
}

/** Sends one create several times at the same moment with one idempotency key. */
export async function createOnceInParallel(step: Step): Promise<void> {
  const request = newCreateRequest(step, newStepId(step));
  const { addresses } = step.state;
  const sent = Array.from({ length: PARALLEL_REQUESTS }, (_, index) =>
    sendCreate(step, request, addresses[index % addresses.length]),
  );
  await Promise.all(sent);
}

/** Sends a create that the moderation service denies. The comparison with the database finds it if it is accepted. */
export async function createDeniedContent(step: Step): Promise<void> {
  const request = newCreateRequest(step, newStepId(step), 'REST', undefined, DENIED_SUBJECT);
  await retryUntilKnown(step, () => sendCreate(step, request));
}

/** Sends another create with a used idempotency key, which must be rejected and have no effect. */
export async function createWithUsedKey(step: Step): Promise<void> {
  const request = newCreateRequest(step, newStepId(step));
  const first = await retryUntilKnown(step, () => sendCreate(step, request));
  if (!first.isGood || request.observed.isStale) return;
  const other = newCreateRequest(step, request.observed.idempotencyKey);
  const response = await sendCreate(step, other);
  // The clock may have been moved meanwhile.
  markIfStale(step.state, request.observed);
  if (!response.isGood || request.observed.isStale) return;
  reportViolation(
    step,
    'same-key-same-response',
    String(request.observed.idempotencyKey),
    'another create was accepted with the same key',
  );
}

export function buildWebhookUrl({ state }: Step, token: string | null): { webhook_url?: string } {
  return token === null ? {} : { webhook_url: state.receiver.buildUrl(token) };
}

/** Sends a create once, and records the outcome. */
export async function sendCreate(
  step: Step,
  createRequest: CreateRequest,
  address?: string,
  key: ObservedKey = pickKey(step),
): Promise<RestResponse> {
  const { observed, params } = createRequest;
  const hasLimit = isLimited(step.customer, key);
  const request: RestRequest = {
    kind: hasLimit ? LIMITED_CREATE : 'create',
    method: 'POST',
    path: '/api/generations/create/',
    body: { model: observed.model, prompt: observed.prompt, params, ...buildWebhookUrl(step, observed.webhookToken) },
    headers: observed.idempotencyKey === null ? {} : { 'idempotency-key': observed.idempotencyKey },
    expectedErrors: [
      'subscription_required',
      'insufficient_credits',
      'parallel_limit_reached',
      'model_unavailable',
      ...(hasLimit ? (['spending_limit_reached'] as const) : []),
      ...(isRestricted(step.customer, key) ? (['insufficient_scope'] as const) : []),
      ...(observed.prompt.startsWith(DENIED_SUBJECT) ? (['content_rejected'] as const) : []),
      // Another create with a used key, or an image that the catalog of the process does not take.
      ...(observed.idempotencyKey === null && !observed.hasImage ? [] : (['validation_error'] as const)),
      ...(observed.hasImage ? (['rate_limited'] as const) : []),
    ],
    status: 201,
    shape: 'generation',
    ...(address === undefined ? {} : { address }),
  };
  recordSent(step, createRequest);
  const response = await sendWithKey(step, request, key);
  recordCreateResponse(step, createRequest, response, response.body, 'REST');
  return response;
}
