import { newStepId, reportViolation, type Step } from '../clientState.ts';
import { type CreateRequest, newCreateRequest } from '../createRequests.ts';
import { sendWithKey } from '../restRequests.ts';
import { sendCreate } from './create.ts';

const CREATES = 4;

/** Estimates and creates several times at one process. */
export async function estimateAndCreate(step: Step): Promise<void> {
  const address = step.random.pick(step.state.addresses);
  for (let count = 0; count < CREATES && !step.state.isCalm; count += 1) await compareEstimate(step, address);
}

/**
 * Creates between two estimates at the same process. Each is a price of one of the catalogs. If both are equal, the process
 * had one catalog throughout, and the create must cost as much.
 */
async function compareEstimate(step: Step, address: string): Promise<void> {
  const request = newCreateRequest(step, newStepId(step));
  const { prompt, prices } = request.observed;
  const before = await estimate(step, request, address);
  if (before === undefined) return;
  const response = await sendCreate(step, request, address);
  const after = await estimate(step, request, address);
  for (const credits of [before, after]) {
    if (credits === undefined || prices.includes(credits)) continue;
    const detail = `the estimate was ${credits} credits instead of ${prices.join(' or ')}`;
    reportViolation(step, 'estimate-is-the-price', prompt, detail);
  }
  if (!response.isGood || before !== after || response.body.credits_charged === before) return;
  const detail = `${response.body.credits_charged} credits were charged, and the estimate was ${before}`;
  reportViolation(step, 'estimate-is-the-price', response.body.uuid, detail);
}

/** @returns the price; undefined without one. */
async function estimate(
  step: Step,
  { observed: { model, prompt }, params }: CreateRequest,
  address: string,
): Promise<number | undefined> {
  const response = await sendWithKey(step, {
    kind: 'estimate',
    method: 'POST',
    path: '/api/generations/estimate/',
    body: { model, prompt, params },
    address,
    status: 200,
    shape: 'estimate',
  });
  return response.isGood ? response.body.credits : undefined;
}
