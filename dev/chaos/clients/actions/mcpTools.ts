import type { ObservedKey } from '../clientStore.ts';
import { recordShownGeneration } from '../observedGenerations.ts';
import { callTool, initializeMcp, openMcpSession, type ToolResult } from '../mcpRequests.ts';
import { newCreateRequest, recordCreateResponse, recordSent } from '../createRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { findShapeProblem, type ResponseShape } from '../responseShapes.ts';
import { reportViolation, newStepId, type Step } from '../clientState.ts';
import { sendCreate } from './create.ts';
import { recordUsage } from './lists.ts';
import { pickKnownGeneration } from './read.ts';

/** Actions of an MCP client: half of the calls create, the others read. */
export async function useMcpTools(step: Step): Promise<void> {
  if (!(await openMcpSession(step))) return;
  if (step.random.chance(0.4)) await createByTool(step);
  else await step.random.pick([getGenerationByTool, listLibraryByTool, getUsageByTool])(step);
}

/** Creates with a tool, identified by an idempotency key or by the request's id, and retries lost responses. */
async function createByTool(step: Step): Promise<void> {
  const { random } = step;
  const request = newCreateRequest(step, random.chance(0.5) ? newStepId(step) : null, 'MCP');
  const { observed, params } = request;
  const id = nextMcpRequestId(step);
  const session = step.customer.session?.id;
  const call = async (): Promise<ToolResult> => {
    recordSent(step, request);
    const response = await callTool(step, {
      name: observed.model === 'imgmodel-2' ? 'generate_image' : 'generate_video',
      args: { prompt: observed.prompt, ...params },
      id,
      idempotencyKey: observed.idempotencyKey,
      expectedErrors: ['subscription_required', 'insufficient_credits', 'parallel_limit_reached', 'model_unavailable'],
    });
    if (response.isGood) verifyToolShape(step, 'generation', response);
    recordCreateResponse(step, request, response, response.structured, 'MCP');
    return response;
  };
  const response = await retryUntilKnown(step, async () => {
    // An id identifies a request within its session: in another session it would be another create.
    const isNamed = observed.idempotencyKey !== null || step.customer.session?.id === session;
    return isNamed && (await openMcpSession(step)) ? call() : ABANDONED;
  });
  if (!('structured' in response) || !response.isGood || !random.chance(0.2)) return;
  // The same key identifies the same create over REST.
  if (observed.idempotencyKey !== null) await sendCreate(step, request);
  else if (step.customer.session?.id === session) await call();
}

const ABANDONED = { isUnknown: false } as const;

async function getGenerationByTool(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known === undefined) return;
  const args = { uuid: known.uuid, wait_seconds: step.random.chance(0.2) ? step.random.nextBetween(1, 3) : 0 };
  const response = await callReadTool(step, 'get_generation', args, 'generation');
  if (response.isGood) recordShownGeneration(step, response.structured, response.beganAt);
  else if (response.code === 'not_found' && known.deleteRequestedAt === null) {
    reportViolation(step, 'created-exists', known.uuid, 'get_generation does not find it, and it was not deleted');
  }
}

async function listLibraryByTool(step: Step): Promise<void> {
  const response = await callReadTool(step, 'list_library', { page: step.random.nextBetween(1, 2) }, 'library');
  if (response.isGood)
    for (const shown of response.structured.data) recordShownGeneration(step, shown, response.beganAt);
}

async function getUsageByTool(step: Step): Promise<void> {
  const response = await callReadTool(step, 'get_usage', {}, 'usageByTool');
  if (response.isGood) recordUsage(step, response.structured);
}

async function callReadTool(step: Step, name: string, args: object, shape: ResponseShape): Promise<ToolResult> {
  const expectedErrors = name === 'get_generation' ? (['not_found'] as const) : [];
  const response = await callTool(step, {
    name,
    args,
    id: nextMcpRequestId(step),
    idempotencyKey: null,
    expectedErrors,
  });
  if (response.isGood) verifyToolShape(step, shape, response);
  return response;
}

function nextMcpRequestId({ customer }: Step): number {
  const { session } = customer;
  if (session === null) return 1;
  session.requests += 1;
  return session.requests;
}

function verifyToolShape(step: Step, shape: ResponseShape, { structured }: ToolResult): void {
  const problem = findShapeProblem(shape, structured);
  if (problem !== null)
    reportViolation(step, 'responses-match-their-schema', shape, `${problem}: ${JSON.stringify(structured)}`);
}

/** Initializes an MCP client with a key that must be rejected. */
export async function probeRevokedKey(step: Step, key: ObservedKey, address: string): Promise<void> {
  await initializeMcp(step, key, address);
}
