import { createHash } from 'node:crypto';
import type { CreateInput } from '../../../shared/domain/generations/charge.ts';
import { createGeneration, type CreateResult } from '../../../shared/domain/generations/create.ts';
import { presentGeneration } from '../../rest/generations/presenter.ts';
import type { ToolResult } from './results.ts';
import type { ToolContext } from './defineTool.ts';

/** Charges and queues an order, and tells the model what to do next. */
export async function submitGeneration(
  input: CreateInput,
  wait: string,
  toolContext: ToolContext,
): Promise<ToolResult> {
  const { generation, isReplay } = await createIdempotently(input, toolContext);
  toolContext.state.generationId = generation.uuid;
  const presented = presentGeneration(generation);
  const { uuid, kind, credits_charged } = presented;
  const outcome = isReplay
    ? `This ${kind} was ordered before, by the same request: nothing more was charged than the ${credits_charged} credits it took then. Its uuid is ${uuid}.`
    : `The ${kind} is queued. Its uuid is ${uuid}; ${credits_charged} credits were charged.`;
  const next = `Call get_generation with this uuid and wait_seconds ${wait} for the result. If it fails, the credits are refunded.`;
  return { text: `${outcome} ${next}`, structured: { ...presented, next } };
}

/**
 * A request that is sent again, since its answer was lost, is not carried out again. It is known by the key that the
 * client gave it, or else by its id, which occurs once in a session (MCP: Requests), and by what it orders: some clients
 * count from the start again, and another order under the same id is a new one.
 */
async function createIdempotently(input: CreateInput, toolContext: ToolContext): Promise<CreateResult> {
  const { principal, idempotencyKey, sessionId, messageId } = toolContext;
  const { requestId } = toolContext.state;
  if (idempotencyKey !== null) return createGeneration(principal, input, idempotencyKey, requestId);
  if (sessionId === null) return createGeneration(principal, input, null, requestId);
  const id = createHash('sha256')
    .update(
      JSON.stringify([
        sessionId,
        messageId,
        input.model,
        input.prompt,
        Object.entries(input.params).toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ]),
    )
    .digest('base64url');
  return createGeneration(principal, input, `mcp:${id}`, requestId);
}
