import {
  type CallToolResult,
  type InputRequiredResult,
  type Notification,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { toCanonicalJson } from '../../../shared/lib/canonicalJson.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { toServiceError } from '../../pipeline/errors.ts';
import { type McpRequestContext, recordDisconnection } from '../requestContext.ts';
import { toCallToolResult, toErrorResult } from './callToolResult.ts';
import type { ToolContext } from './defineTool.ts';
import { findTool, getTools } from './index.ts';
import { requestAccountPage } from './urlElicitation.ts';

/** The parts of a message that tools use, beside the name and the arguments. */
type ToolCall = Pick<ServerContext['mcpReq'], 'id' | '_meta' | 'inputResponses'> & {
  isCancelled: () => boolean;
  notify: (notification: Notification) => Promise<void>;
};

/**
 * Runs a tool. Errors of the service become tool results that the model can read; an unknown tool is a protocol error.
 */
export async function callTool(
  name: string,
  input: unknown,
  requestContext: McpRequestContext,
  toolCall: ToolCall,
): Promise<CallToolResult | InputRequiredResult> {
  const tool = findTool(name);
  if (tool === undefined)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${name.slice(0, 64)}. Known tools: ${getTools()
        .map((known) => known.name)
        .join(', ')}.`,
    );
  try {
    if (requestContext.rateLimitError !== null) throw requestContext.rateLimitError;
    // Before the arguments are parsed, which adds defaults to them.
    const call = toCanonicalJson([name, input]);
    return toCallToolResult(await tool.run(input ?? {}, buildToolContext(requestContext, toolCall, call)));
  } catch (thrown) {
    const error = toServiceError(thrown, requestContext);
    recordDisconnection(requestContext, error);
    return requestAccountPage(error, requestContext, toolCall.inputResponses !== undefined) ?? toErrorResult(error);
  }
}

function buildToolContext(
  requestContext: McpRequestContext,
  { id, _meta: meta, isCancelled, notify }: ToolCall,
  call: string,
): ToolContext {
  const token = meta?.['progressToken'];
  const report = (progress: number, total: number, message: string) => {
    const params = { progressToken: token, progress, total, message };
    void notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  return {
    ...requestContext,
    isAborted: () => isCancelled() || requestContext.isAborted(),
    reportProgress: token === undefined ? null : report,
    idempotencyKey: parseMetaIdempotencyKey(meta),
    messageId: id,
    call,
  };
}

/** @throws ServiceError validation_error */
function parseMetaIdempotencyKey(meta: Record<string, unknown> | undefined): string | null {
  const key = meta?.['idempotencyKey'];
  if (key === undefined) return null;
  if (typeof key === 'string' && /^[\x20-\x7e]+$/.test(key) && key.length <= IDEMPOTENCY_KEY_MAX_CHARACTERS) return key;
  const detail = `_meta.idempotencyKey must have 1 to ${IDEMPOTENCY_KEY_MAX_CHARACTERS} plain ASCII characters, such as a UUID.`;
  throw new ServiceError('validation_error', detail);
}
