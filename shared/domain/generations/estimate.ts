import { getUpstreamRoutes } from '../../gateways/upstreams/index.ts';
import type { EstimateResponse } from '../../presenters/estimate.ts';
import { type Caller, requireAllowedModel } from '../accounts/caller.ts';
import { requireReleasedCatalog } from '../catalog/releases.ts';
import { buildRejectionError, TOPUP_PROCESSING_DETAIL } from './rejections.ts';
import { type CreateInput, priceRequest } from './chargeRequest.ts';
import { getUsualSeconds } from './execution/pollPace.ts';
import { type Admission, readAdmission } from './readAdmission.ts';
import { parseRequestInputs, requirePriceWithinLimit, requireTestUpstream } from './requestChecks.ts';

/**
 * Returns the price of a request and what a create would do with it now. Nothing is charged, topped up or sent to
 * the moderation service.
 * @throws ServiceError validation_error, insufficient_scope, invalid_api_key, account_suspended, model_unavailable
 *   for a test key while test mode is off, or internal_error (503).
 */
export async function estimateGeneration(caller: Caller, input: CreateInput): Promise<EstimateResponse> {
  requireAllowedModel(caller, input.model);
  await requireReleasedCatalog();
  requireTestUpstream(caller);
  requirePriceWithinLimit(caller, input);
  const admission = await readAdmission(caller, input);
  const { model } = input;
  const { params } = parseRequestInputs(caller.accountId, input);
  const { balance } = admission;
  const credits = priceRequest(caller, input);
  return {
    model,
    params,
    credits,
    balance,
    balance_after: balance - credits,
    affordable: balance >= credits,
    usual_seconds: findUsualSeconds(caller, model),
    refusal: await findRejection(admission, { model, credits }, caller),
  };
}

/** Test keys have an upstream of their own, whose runs take no time worth knowing. */
function findUsualSeconds({ isTest }: Caller, model: string): number | null {
  const route = getUpstreamRoutes()[model]?.[0];
  return route === undefined || isTest === true ? null : getUsualSeconds(route.upstream.name, route.modelId);
}

async function findRejection(
  { outcome, auto_topup: topup }: Admission,
  request: { model: string; credits: number },
  caller: Caller,
): Promise<EstimateResponse['refusal']> {
  if (outcome === 'accepted' || outcome === 'replayed') return null;
  const { message: detail } = await buildRejectionError(outcome, request, caller);
  if (outcome !== 'insufficient_credits' || topup === 'none') return { error: outcome, detail };
  const more = topup === 'processing' ? TOPUP_PROCESSING_DETAIL : TOPUP_EXPECTED_DETAIL;
  return { error: outcome, detail: `${detail} ${more}` };
}

const TOPUP_EXPECTED_DETAIL = 'Automatic top-ups are on: a create would try one first.';
