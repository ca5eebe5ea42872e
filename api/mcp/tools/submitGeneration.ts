import Type from 'typebox';
import type { CreateInput } from '../../../shared/domain/generations/chargeRequest.ts';
import { createGeneration, type CreateResult } from '../../../shared/domain/generations/create.ts';
import { estimateGeneration } from '../../../shared/domain/generations/estimate.ts';
import { type EstimateResponse, getEstimateResponse } from '../../../shared/presenters/estimate.ts';
import { getGenerationResponse, presentGeneration } from '../../../shared/presenters/generation.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import type { ToolContext } from './defineTool.ts';
import { type ToolResult, withNextStep } from './callToolResult.ts';
import { buildGenerationResult } from './generationResult.ts';
import { waitForGeneration } from './waitForGeneration.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { sha256 } from '../../../shared/lib/secrets.ts';
import { WAIT_MAX_SECONDS } from '../../../shared/spec/limits.ts';

/** Argument of the tools that create a generation. */
export const DryRun = Type.Optional(
  Type.Boolean({
    description:
      'true returns the price, the balance after it and a possible rejection, and creates nothing. Use it when the user wants to know the cost first.',
  }),
);

/** Argument of the tools that create a generation. */
export const WaitSeconds = Type.Integer({
  minimum: 0,
  maximum: WAIT_MAX_SECONDS,
  default: 0,
  description: 'Seconds to wait for the result. The call returns as soon as it has ended; 0 returns immediately.',
});

/** Result of the tools that create a generation: the generation, or with `dry_run` its estimate. */
export const buildSubmitOutput = () =>
  Type.Union([withNextStep(getGenerationResponse()), withNextStep(getEstimateResponse())]);

export interface SubmitOptions {
  wait_seconds: number;
  dry_run?: boolean;
}

/** Charges and queues a generation, or estimates it. The result is the generation, and names the next call. */
export async function submitGeneration(
  input: CreateInput,
  { wait_seconds: waitSeconds, dry_run: isDryRun = false }: SubmitOptions,
  toolContext: ToolContext,
): Promise<ToolResult> {
  if (isDryRun) return presentEstimate(await estimateGeneration(toolContext.caller, input));
  const { generation, isReplay } = await createIdempotently(input, toolContext);
  toolContext.state.generationId = generation.uuid;
  const queued = presentGeneration(generation);
  const { uuid, kind, credits_charged } = queued;
  const outcome = isReplay
    ? `This ${kind} was created before by the same request: nothing more was charged than its ${credits_charged} credits. Its uuid is ${uuid}.`
    : `The ${kind} is queued. Its uuid is ${uuid}; ${credits_charged} credits were charged.`;
  const ended = waitSeconds === 0 ? null : await waitForCreated(uuid, waitSeconds, toolContext);
  if (ended !== null && ended.status !== 'queued') {
    const result = await buildGenerationResult(ended);
    return isReplay ? { ...result, text: `${outcome} ${result.text}` } : result;
  }
  const next =
    'Call get_generation with this uuid and wait_seconds 45 for the result. If it fails, the credits are refunded.';
  return { text: `${outcome} ${next}`, structured: { ...queued, next } };
}

/** Waits for a generation that is charged. Returns null if it cannot be read: an error would hide that it exists. */
async function waitForCreated(uuid: string, seconds: number, toolContext: ToolContext): Promise<Generation | null> {
  try {
    return await waitForGeneration(uuid, seconds, toolContext);
  } catch (error) {
    logger.debug({ err: error, generation: uuid }, 'wait for a created generation failed');
    return null;
  }
}

function presentEstimate(estimate: EstimateResponse): ToolResult {
  const { credits, balance, balance_after: after, refusal: rejection } = estimate;
  const price = `This costs ${credits} credits; the balance is ${balance}. Nothing was created or charged.`;
  const next =
    rejection === null
      ? `If the user agrees, call this tool again without dry_run; ${after} credits are left then.`
      : `The call would be rejected now with ${rejection.error}: ${rejection.detail}`;
  return { text: `${price} ${next}`, structured: { ...estimate, next } };
}

/**
 * Creates the generation once, even if the client retries because the response was lost. A retry is recognized by its
 * idempotency key, or by the message id, which is unique within a session (MCP: Requests), together with the call: some
 * clients restart their ids, so another call under the same id is a new request. The call counts as the client sent it,
 * because defaults may change with a deployment.
 */
async function createIdempotently(input: CreateInput, toolContext: ToolContext): Promise<CreateResult> {
  const { caller, idempotencyKey, sessionId, messageId, call } = toolContext;
  const { requestId } = toolContext.state;
  const id = () => sha256(JSON.stringify([sessionId, messageId, call])).toString('base64url');
  const key = idempotencyKey ?? (sessionId === null ? null : `mcp:${id()}`);
  return createGeneration(caller, input, key, requestId);
}
