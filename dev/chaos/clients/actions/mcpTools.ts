import { newStepId, retryUntilKnown, type Step } from '../clientState.ts';
import { newCreateRequest } from '../createRequests.ts';
import { callTool, createByTool, openMcpSession, type ToolCall } from '../mcpRequests.ts';
import { recordShownGeneration } from '../observedGenerations.ts';
import { pickKnownGeneration, reportLost, sendCreate } from './generations.ts';
import { recordUsage } from './lists.ts';

/** Actions of an MCP client: many of the calls create, the others read. */
export async function useMcpTools(step: Step): Promise<void> {
  if (!(await openMcpSession(step))) return;
  if (step.random.chance(0.4)) await createInSession(step);
  else await step.random.pick([getGeneration, listLibrary, getUsage])(step);
}

/** Creates with a tool, identified by an idempotency key or by the request's id, and retries lost responses. */
async function createInSession(step: Step): Promise<void> {
  const { customer, random } = step;
  const request = newCreateRequest(step, random.chance(0.5) ? newStepId(step) : null, 'MCP');
  const { idempotencyKey } = request.observed;
  const id = nextRequestId(step);
  const session = customer.session?.id;
  const create = () => createByTool(step, request, { id });
  const response = await retryUntilKnown(step, async () => {
    // An id identifies a request within its session: in another session it would be another create.
    const isNamed = idempotencyKey !== null || customer.session?.id === session;
    return isNamed && (await openMcpSession(step)) ? create() : { isUnknown: false, isGood: false };
  });
  if (!response.isGood || !random.chance(0.2)) return;
  // The same key identifies the same create over REST.
  if (idempotencyKey !== null) await sendCreate(step, request);
  else if (customer.session?.id === session) await create();
}

async function getGeneration(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known === undefined) return;
  const args = { uuid: known.uuid, wait_seconds: step.random.chance(0.2) ? step.random.nextBetween(1, 3) : 0 };
  const response = await read(step, { name: 'get_generation', args, output: 'generation', expects: ['not_found'] });
  if (response.isGood) recordShownGeneration(step, response.structured, response.beganAt);
  else reportLost(step, known, response, 'get_generation');
}

async function listLibrary(step: Step): Promise<void> {
  const args = { page: step.random.nextBetween(1, 2) };
  const response = await read(step, { name: 'list_library', args, output: 'library' });
  if (!response.isGood) return;
  for (const shown of response.structured.data) recordShownGeneration(step, shown, response.beganAt);
}

async function getUsage(step: Step): Promise<void> {
  const response = await read(step, { name: 'get_usage', output: 'usage' });
  if (response.isGood) recordUsage(step, response.structured);
}

const read = (step: Step, toolCall: Omit<ToolCall, 'id'>) => callTool(step, { ...toolCall, id: nextRequestId(step) });

function nextRequestId({ customer: { session } }: Step): number {
  if (session === null) return 1;
  session.requests += 1;
  return session.requests;
}
