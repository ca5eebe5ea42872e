import { isInitializeRequest, type JSONRPCRequest, type JSONRPCResponse } from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { consumeRateLimit } from '../pipeline/rateLimit.ts';
import { authorizeMessage, revalidateCredentials } from './authenticate.ts';
import { isBrowserRequest, sendMcpInfoPage } from './infoPage.tsx';
import type { McpRequestContext } from './requestContext.ts';
import {
  type AcceptedTypes,
  classifyMessage,
  getHeader,
  type InboundMessage,
  McpTransportError,
  parseAcceptedTypes,
  readMessageBody,
  TRANSPORT_ERROR,
  withTransportErrors,
} from './transport/message.ts';
import { requireSupportedVersion } from './transport/protocolVersion.ts';
import { handleMcpRequest, handleNotification } from './transport/requestHandler.ts';
import { createMcpSession, deleteMcpSession, EVENT_ID_PATTERN, requireMcpSession } from './transport/session.ts';
import { serveSessionStream } from './transport/sessionStream.ts';
import { handleStateless } from './transport/stateless.ts';

/**
 * The Streamable HTTP endpoint of the Model Context Protocol (docs/mcp.md). A tools/call passes from `post` through
 * transport/requestHandler.ts and transport/multiplexer.ts to the handlers of server.ts, and from there to the tool.
 */

/** `POST /mcp`: handles one message of a client. */
export const post = withTransportErrors(async (ctx) => {
  const accepted = parseAcceptedTypes(ctx);
  const isBodyLate = !ctx.req.complete;
  const body = await readMessageBody(ctx);
  const requestContext = await authorizeMessage(ctx, body, isBodyLate);
  const inbound = classifyMessage(ctx, body);
  if (inbound.kind === 'stateless') {
    return handleStateless(ctx, inbound.message, requestContext, () => revalidateCredentials(ctx));
  }
  requireSupportedVersion(ctx);
  if (inbound.kind === 'request' && inbound.message.method === 'initialize') {
    return initialize(ctx, inbound.message, requestContext, accepted);
  }
  const session = await requireMcpSession(ctx);
  await dispatchMessage(
    ctx,
    inbound,
    { ...requestContext, sessionId: session.id, elicitsUrls: session.elicitsUrls },
    accepted,
  );
});

/** `GET /mcp`: opens the event stream of a session, or shows the info page in a browser. */
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
    throw new McpTransportError(400, TRANSPORT_ERROR, 'Last-Event-ID is not an event id of this service.');
  }
  await serveSessionStream(ctx, session, lastEventId, () => revalidateCredentials(ctx));
});

/** `DELETE /mcp`: ends a session. */
export const deleteSession = withTransportErrors(async (ctx) => {
  await consumeRateLimit(ctx, 'account');
  requireSupportedVersion(ctx);
  await deleteMcpSession(await requireMcpSession(ctx));
  ctx.status = 204;
});

async function dispatchMessage(
  ctx: Context,
  inbound: Exclude<InboundMessage, { kind: 'stateless' }>,
  requestContext: McpRequestContext,
  accepted: AcceptedTypes,
) {
  if (inbound.kind === 'request') return handleMcpRequest(ctx, inbound.message, requestContext, accepted);
  if (inbound.kind === 'notification') await handleNotification(inbound.message, requestContext.sessionId);
  ctx.body = null;
  ctx.status = 202;
}

/** Handles `initialize`: a successful response carries the id of a new session in its header. */
async function initialize(
  ctx: Context,
  message: JSONRPCRequest,
  requestContext: McpRequestContext,
  accepted: AcceptedTypes,
): Promise<void> {
  await handleMcpRequest(ctx, message, requestContext, accepted, async (response: JSONRPCResponse) => {
    if (!isInitializeRequest(message) || !('result' in response)) return;
    const version = String((response.result as { protocolVersion?: unknown }).protocolVersion);
    const session = await createMcpSession(requestContext.caller.accountId, version, requestContext.elicitsUrls);
    ctx.set('mcp-session-id', session.id);
  });
}
