import { newStepId, reportViolation, type Step } from '../clientState.ts';
import { type RestResponse, type RestRequest, sendRest, sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';

const IMAGE = { model: 'imgmodel-2', params: { resolution: '1K' } };

/** Creates a generation with a test key of the customer, which must cost nothing. */
export async function useTestMode(step: Step): Promise<void> {
  const { customer } = step;
  customer.testKey ??= await createTestKey(step);
  const key = customer.testKey;
  if (key === null) return;
  const prompt = `in test mode ${newStepId(step)}`;
  const request: RestRequest = {
    kind: 'create in test mode',
    method: 'POST',
    path: '/api/generations/create/',
    body: { ...IMAGE, prompt },
    headers: { authorization: `Bearer ${key}` },
    expectedErrors: ['parallel_limit_reached', 'rate_limited', 'subscription_required'],
    status: 201,
    shape: 'generation',
  };
  const response = await sendRest(step, request);
  // A client at the limit of keys has revoked it.
  if (response.status === 401) customer.testKey = null;
  if (response.isGood && response.body.credits_charged !== 0) reportCharge(step, response);
}

function reportCharge(step: Step, { body }: RestResponse): void {
  reportViolation(
    step,
    'price-matches-the-catalog',
    body.uuid,
    `a test key was charged ${body.credits_charged} credits`,
  );
}

async function createTestKey(step: Step): Promise<string | null> {
  const idempotencyKey = newStepId(step);
  const request: RestRequest = {
    kind: 'make test key',
    method: 'POST',
    path: '/api/keys/create/',
    body: { name: `test key ${idempotencyKey}`, mode: 'test' },
    headers: { 'idempotency-key': idempotencyKey },
    // As for other keys.
    expectedErrors: ['validation_error', 'insufficient_scope'],
    status: 201,
    shape: 'createdKey',
  };
  const response = await retryUntilKnown(step, () => sendWithKey(step, request));
  return response.isGood ? response.body.key : null;
}
