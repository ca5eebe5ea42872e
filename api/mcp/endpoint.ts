import { isInitializeRequest, type JSONRPCRequest, type JSONRPCResponse } from '@modelcontextprotocol/server';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context, Handler } from '../context.ts';
import { requireCaller } from '../context.ts';
import { consumeRateLimit } from '../pipeline/rateLimit.ts';
import { type Principal, authenticateBearer, requireScope } from '../pipeline/authenticateBearer.ts';
import type { Scope } from '../../shared/spec/oauth.ts';
import type { McpRequestContext } from './requestContext.ts';
import { EVENT_ID_PATTERN } from './transport/eventStore.ts';
import {
  handleMcpRequest,
  type AcceptedTypes,
  parseAcceptedTypes,
  handleNotification,
} from './transport/requestHandler.ts';
import {
  getHeader,
  readMessageId,
  type InboundMessage,
  classifyMessage,
  readMessageBody,
  requireSupportedVersion,
} from './transport/inboundMessage.ts';
import { sendMcpInfoPage, isBrowserRequest } from './infoPage.tsx';
import { TRANSPORT_ERROR, McpTransportError } from './transport/transportError.ts';
import { createMcpSession, deleteMcpSession, findMcpSession, type McpSession } from './transport/sessions.ts';
import { handleStateless } from './transport/stateless.ts';
import { serveSessionStream } from './transport/sessionStream.ts';
import { findTool } from './tools/index.ts';

/** The endpoint of the Model Context Protocol: Streamable HTTP, and whom it is for (docs/mcp.md). */

/** One message from a client, and its answer. */
export const post = withTransportErrors(async (ctx) => {
  const forms = parseAcceptedTypes(ctx);
  const body = await readMessageBody(ctx);
  const call = await authorizeMessage(ctx, body);
  const message = classifyMessage(ctx, body);
  if (message.kind === 'stateless') {
    return handleStateless(ctx, message.message, call, () => revalidateCredentials(ctx));
  }
  requireSupportedVersion(ctx);
  if (message.kind === 'request' && message.message.method === 'initialize') {
    return initialize(ctx, message.message, call, forms);
  }
  const session = await requireMcpSession(ctx);
  await dispatchMessage(ctx, message, { ...call, sessionId: session.id }, forms);
});

/** The event stream of a session; or, in a browser, a page that explains itself. */
export const get = withTransportErrors(async (ctx) => {
  if (isBrowserRequest(ctx)) {
    await consumeRateLimit(ctx, 'public');
    sendMcpInfoPage(ctx);
    return;
  }
  await consumeRateLimit(ctx, 'account');
  if (ctx.method === 'HEAD' || !parseAcceptedTypes(ctx).sse) {
    throw new McpTransportError(406, TRANSPORT_ERROR, 'GET opens an event stream: send "Accept: text/event-stream".');
  }
  requireSupportedVersion(ctx);
  const session = await requireMcpSession(ctx);
  const lastEventId = getHeader(ctx, 'last-event-id') ?? null;
  if (lastEventId !== null && !EVENT_ID_PATTERN.test(lastEventId)) {
    throw new McpTransportError(400, TRANSPORT_ERROR, 'Last-Event-ID is none that this service gives.');
  }
  await serveSessionStream(ctx, session, lastEventId, () => revalidateCredentials(ctx));
});

/** Ends a session. */
export const deleteSession = withTransportErrors(async (ctx) => {
  await consumeRateLimit(ctx, 'account');
  requireSupportedVersion(ctx);
  await deleteMcpSession(await requireMcpSession(ctx));
  ctx.status = 204;
});

/** What the transport refuses is answered as JSON-RPC has it; all else by the envelope of the errors' middleware. */
function withTransportErrors(handler: (ctx: Context) => Promise<void>): Handler {
  return async (ctx) => {
    try {
      await handler(ctx);
    } catch (error) {
      if (!(error instanceof McpTransportError)) throw error;
      ctx.status = error.status;
      ctx.body = error.body;
    }
  };
}

async function dispatchMessage(
  ctx: Context,
  message: Exclude<InboundMessage, { kind: 'stateless' }>,
  requestContext: McpRequestContext,
  accepted: AcceptedTypes,
) {
  if (message.kind === 'request') return handleMcpRequest(ctx, message.message, requestContext, accepted);
  if (message.kind === 'notification') await handleNotification(message.message, requestContext.sessionId);
  ctx.body = null;
  ctx.status = 202;
}

/** A client introduces itself, and gets a session in return. */
async function initialize(
  ctx: Context,
  message: JSONRPCRequest,
  requestContext: McpRequestContext,
  accepted: AcceptedTypes,
): Promise<void> {
  await handleMcpRequest(ctx, message, requestContext, accepted, async (answer: JSONRPCResponse) => {
    if (!isInitializeRequest(message) || !('result' in answer)) return;
    const version = String((answer.result as { protocolVersion?: unknown }).protocolVersion);
    const session = await createMcpSession(requestContext.principal.accountId, version);
    ctx.set('mcp-session-id', session.id);
  });
}

/**
 * The session that a request names.
 * @throws Refusal 400 where it names none; 404 where there is none (any more), or it is another account's.
 */
async function requireMcpSession(ctx: Context): Promise<McpSession> {
  const id = getHeader(ctx, 'mcp-session-id');
  if (id === undefined) {
    throw new McpTransportError(
      400,
      TRANSPORT_ERROR,
      'Mcp-Session-Id is missing: send "initialize" first, and its answer has one.',
    );
  }
  const session = await findMcpSession(id, requireCaller(ctx).accountId);
  if (session === null)
    throw new McpTransportError(404, TRANSPORT_ERROR, 'There is no such session: send "initialize" again.');
  return session;
}

/** Counts a message, and sees to it that the credentials allow what it asks for. */
async function authorizeMessage(ctx: Context, body: unknown): Promise<McpRequestContext> {
  const principal = requireCaller(ctx) as Principal;
  const { scope, rateClass, isCall } = getMessageRequirements(body);
  if (scope !== null) requireScope(principal, scope);
  const requestContext: McpRequestContext = {
    principal,
    state: ctx.state,
    sessionId: null,
    messageId: readMessageId(body),
    rateLimitError: null,
    isAborted: () => ctx.res.destroyed,
  };
  try {
    await consumeRateLimit(ctx, rateClass);
    return requestContext;
  } catch (error) {
    // A model is told in words that it goes too fast (spec: Errors, rule 1).
    if (isCall && error instanceof ServiceError) return { ...requestContext, rateLimitError: error };
    throw error;
  }
}

interface MessageRequirements {
  scope: Scope | null;
  rateClass: 'create' | 'account';
  isCall: boolean;
}

function getMessageRequirements(body: unknown): MessageRequirements {
  const { id, method, params } = (body ?? {}) as { id?: unknown; method?: unknown; params?: { name?: unknown } };
  const name = params?.name;
  const tool = method === 'tools/call' && typeof name === 'string' ? findTool(name) : undefined;
  if (tool !== undefined) return { scope: tool.scope, rateClass: tool.rateClass, isCall: id !== undefined };
  const readsLibrary =
    typeof method === 'string' && (method.startsWith('resources/') || method.startsWith('subscriptions/'));
  return { scope: readsLibrary ? 'svc:read' : null, rateClass: 'account', isCall: false };
}

/** Ends a stream whose credentials are no longer valid; that they cannot be looked up is no reason to. */
async function revalidateCredentials(ctx: Context): Promise<void> {
  await authenticateBearer(ctx).catch((error: unknown) => {
    if (error instanceof ServiceError) throw error;
  });
}
