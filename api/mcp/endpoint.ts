import type { JSONRPCResponse, RequestId } from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { negotiateLanguage, withLanguage } from '../language.ts';
import { consumeRateLimit } from '../pipeline/rateLimit.ts';
import { authorizeMessage } from './authenticate.ts';
import { isBrowserRequest, sendMcpInfoPage } from './infoPage.tsx';
import type { McpRequestContext } from './requestContext.ts';
import {
  classifyMessage,
  getHeader,
  McpTransportError,
  parseAcceptedTypes,
  readMessageBody,
  requireSupportedVersion,
  withTransportErrors,
} from './transport/message.ts';
import { cancelRequest, handleMcpRequest } from './transport/sessionRequests.ts';
import { createMcpSession, deleteMcpSession, EVENT_ID_PATTERN, requireMcpSession } from './transport/session.ts';
import { serveSessionStream } from './transport/sessionStream.ts';
import { handleStateless } from './transport/stateless.ts';

/**
 * The Streamable HTTP endpoint of the Model Context Protocol (docs/mcp.md). A tools/call passes from `post` through
 * transport/sessionRequests.ts to tools/callTool.ts, or without a session through transport/stateless.ts and server.ts.
 */

/** `POST /mcp`: handles one message of a client. */
export const post = withTransportErrors(async (ctx) => {
  const accepted = parseAcceptedTypes(ctx);
  const isBodyLate = !ctx.req.complete;
  const body = await readMessageBody(ctx);
  const requestContext = await authorizeMessage(ctx, body, isBodyLate);
  const inbound = classifyMessage(ctx, body);
  if (inbound.kind === 'stateless') {
    return handleStateless(ctx, inbound.message, requestContext);
  }
  requireSupportedVersion(ctx);
  if (inbound.kind === 'request' && inbound.message.method === 'initialize') {
    return handleMcpRequest(ctx, inbound.message, requestContext, accepted, (response) =>
      startSession(ctx, response, requestContext),
    );
  }
  const { id: sessionId, elicitsUrls } = await requireMcpSession(ctx);
  if (inbound.kind === 'request') {
    return handleMcpRequest(ctx, inbound.message, { ...requestContext, sessionId, elicitsUrls }, accepted);
  }
  // Other notifications have no effect.
  const { method, params } = inbound.message;
  if (method === 'notifications/cancelled') cancelRequest(sessionId, params?.['requestId'] as RequestId);
  ctx.body = null;
  ctx.status = 202;
});

/** Starts a session if `initialize` succeeded. Its id is a header of the response. */
async function startSession(ctx: Context, response: JSONRPCResponse, { caller, elicitsUrls }: McpRequestContext) {
  if (!('result' in response)) return;
  const version = String((response.result as { protocolVersion?: unknown }).protocolVersion);
  ctx.set('mcp-session-id', await createMcpSession(caller.accountId, version, elicitsUrls));
}

/** `GET /mcp`: opens the event stream of a session, or shows the info page in a browser. */
export const get = withTransportErrors(async (ctx) => {
  if (isBrowserRequest(ctx)) {
    await consumeRateLimit(ctx, 'public');
    withLanguage(negotiateLanguage(ctx), () => sendMcpInfoPage(ctx));
    return;
  }
  await consumeRateLimit(ctx, 'account');
  if (ctx.method === 'HEAD' || !parseAcceptedTypes(ctx).sse) {
    throw new McpTransportError(406, 'GET opens an event stream: send "Accept: text/event-stream".');
  }
  requireSupportedVersion(ctx);
  const session = await requireMcpSession(ctx);
  const lastEventId = getHeader(ctx, 'last-event-id') ?? null;
  if (lastEventId !== null && !EVENT_ID_PATTERN.test(lastEventId)) {
    throw new McpTransportError(400, 'Last-Event-ID is not an event id of this service.');
  }
  await serveSessionStream(ctx, session, lastEventId);
});

/** `DELETE /mcp`: ends a session. */
export const deleteSession = withTransportErrors(async (ctx) => {
  await consumeRateLimit(ctx, 'account');
  requireSupportedVersion(ctx);
  await deleteMcpSession(await requireMcpSession(ctx));
  ctx.status = 204;
});
