import { createHash } from 'node:crypto';
import type { Order } from '../../../shared/domain/generations/charge.ts';
import { createGeneration, type Creation } from '../../../shared/domain/generations/create.ts';
import { presentGeneration } from '../../presenters.ts';
import type { ToolAnswer } from '../results.ts';
import type { ToolCall } from './tool.ts';

/** Charges and queues an order, and tells the model what to do next. */
export async function order(orders: Order, wait: string, call: ToolCall): Promise<ToolAnswer> {
  const { generation, isReplay } = await createOnce(orders, call);
  call.state.generationId = generation.uuid;
  const presented = presentGeneration(generation);
  const { uuid, kind, credits_charged } = presented;
  const told = isReplay
    ? `This ${kind} was ordered before, by the same request: nothing more was charged than the ${credits_charged} credits it took then. Its uuid is ${uuid}.`
    : `The ${kind} is queued. Its uuid is ${uuid}; ${credits_charged} credits were charged.`;
  const next = `Call get_generation with this uuid and wait_seconds ${wait} for the result. If it fails, the credits are refunded.`;
  return { text: `${told} ${next}`, structured: { ...presented, next } };
}

/**
 * A request that is sent again, since its answer was lost, is not carried out again. It is known by the key that the
 * client gave it, or else by its id, which occurs once in a session (MCP: Requests), and by what it orders: some clients
 * count from the start again, and another order under the same id is a new one.
 */
async function createOnce(orders: Order, call: ToolCall): Promise<Creation> {
  const { assistant, idempotencyKey, sessionId, messageId } = call;
  const { requestId } = call.state;
  if (idempotencyKey !== null) return createGeneration(assistant, orders, idempotencyKey, requestId);
  if (sessionId === null) return createGeneration(assistant, orders, null, requestId);
  const id = createHash('sha256')
    .update(
      JSON.stringify([
        sessionId,
        messageId,
        orders.model,
        orders.prompt,
        Object.entries(orders.params).toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ]),
    )
    .digest('base64url');
  return createGeneration(assistant, orders, `mcp:${id}`, requestId);
}
