import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { filterCompleted, readGeneration } from '../../../shared/domain/generations/read.ts';
import { config } from '../../../shared/lib/config.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { consumeRateLimit } from '../../pipeline/rateLimit.ts';
import { type McpRequestContext, requireConnection, toAuthInfo } from '../requestContext.ts';
import { buildGenerationUri, parseGenerationUri } from '../resources/generationUri.ts';
import { subscribeLocal } from '../resources/subscriptions.ts';
import { buildServer } from '../server.ts';
import { withStreamSlot } from './sse.ts';

/**
 * The protocol version without sessions, 2026-07-28. Every request carries all of its context, and the library serves
 * it with a server of its own. Subscriptions are event streams that end with the process; clients open them again.
 */

type StatelessMessage = JSONRPCRequest | JSONRPCNotification;

/** Each message has its own handler: closing one ends a subscription, while calls are answered during a shutdown. */
const createHandler = () =>
  createMcpHandler(() => buildServer({ withIcon: false }), {
    legacy: 'reject',
    onerror: (error) => logger.debug({ err: error }, 'stateless MCP request rejected'),
  });

const state = perService(() => ({ isStopping: false, subscriptions: new Set<McpHttpHandler>() }));

/** Ends the subscription streams of a process that shuts down. Calls in progress are still answered. */
export function closeStatelessStreams(): void {
  state().isStopping = true;
  for (const handler of state().subscriptions) void handler.close();
}

/** Serves one message of the stateless version. */
export async function handleStateless(
  ctx: Context,
  message: StatelessMessage,
  requestContext: McpRequestContext,
): Promise<void> {
  if (message.method === 'subscriptions/listen' && 'id' in message) {
    return withStreamSlot(ctx, () => serveSubscriptions(ctx, message, requestContext));
  }
  await sendLibraryResponse(ctx, await callLibrary(ctx, createHandler(), message, requestContext));
}

/** Passes a message to the library, and aborts it if the client disconnects. */
async function callLibrary(
  ctx: Context,
  handler: McpHttpHandler,
  message: StatelessMessage,
  requestContext: McpRequestContext,
): Promise<Response> {
  const abortController = new AbortController();
  ctx.res.once('close', () => abortController.abort());
  const request = new Request(`${config.BASE_URL}/mcp`, {
    method: 'POST',
    headers: pickMcpHeaders(ctx),
    signal: abortController.signal,
  });
  const response = await handler.fetch(request, { parsedBody: message, authInfo: toAuthInfo(requestContext) });
  if (!isEventStream(response)) requireConnection(requestContext);
  return response;
}

/** Serves a stream that reports the end of the generations that a client subscribes to. */
async function serveSubscriptions(
  ctx: Context,
  message: JSONRPCRequest,
  requestContext: McpRequestContext,
): Promise<void> {
  const [filtered, generationIds] = await filterSubscriptions(ctx, message, requestContext);
  const { isStopping, subscriptions } = state();
  if (isStopping) {
    throw new ServiceError('internal_error', 'The server process is shutting down. Try again.', {
      retryAfterSeconds: 1,
    });
  }
  const handler = createHandler();
  subscriptions.add(handler);
  const publish = (id: string) => handler.notify.resourceUpdated(buildGenerationUri(id));
  const unsubscribes = generationIds.map((id) => subscribeLocal(id, () => publish(id)));
  try {
    const response = await callLibrary(ctx, handler, filtered, requestContext);
    // Checked after the stream is open, so that generations that completed before are reported, too.
    for (const id of await filterCompleted(generationIds)) publish(id);
    await sendLibraryResponse(ctx, response);
  } finally {
    for (const unsubscribe of unsubscribes) unsubscribe();
    subscriptions.delete(handler);
  }
}

/** Maximum number of generations per subscription stream. */
const SUBSCRIPTIONS_MAX = 100;

/**
 * Removes subscriptions to generations that do not exist or belong to another account. The acknowledgement lists the
 * rest.
 */
async function filterSubscriptions(
  ctx: Context,
  message: JSONRPCRequest,
  requestContext: McpRequestContext,
): Promise<[JSONRPCRequest, string[]]> {
  const params = message.params as { notifications?: { resourceSubscriptions?: unknown } } | undefined;
  const requested = params?.notifications?.resourceSubscriptions;
  if (!Array.isArray(requested)) return [message, []];
  const uris = [...new Set(requested)].slice(0, SUBSCRIPTIONS_MAX);
  // The message itself was counted; each further generation counts as one more read.
  await consumeRateLimit(ctx, 'account', { points: uris.length - 1 });
  const checked = await Promise.all(uris.map((uri) => findOwnedGenerationId(uri, requestContext)));
  const ids = [...new Set(checked.filter((id) => id !== null))];
  const notifications = { ...params?.notifications, resourceSubscriptions: ids.map(buildGenerationUri) };
  return [{ ...message, params: { ...params, notifications } }, ids];
}

async function findOwnedGenerationId(uri: unknown, { caller }: McpRequestContext): Promise<string | null> {
  const id = typeof uri === 'string' ? parseGenerationUri(uri) : null;
  if (id === null) return null;
  try {
    return (await readGeneration(caller, id)).uuid;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return null;
    throw error;
  }
}

/** Returns the headers that the library checks. Credentials are left out. */
function pickMcpHeaders(ctx: Context): [string, string][] {
  return Object.entries(ctx.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && /^(?:content-type$|accept$|mcp-)/.test(name) ? [[name, value]] : [],
  );
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

/** Sends the library's response to the client. */
async function sendLibraryResponse(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) if (name !== 'connection') ctx.set(name, value);
  if (!isEventStream(response)) {
    const text = await response.text();
    ctx.body = text === '' ? null : text;
    // An empty body has set it to 204.
    ctx.status = response.status;
    return;
  }
  ctx.respond = false;
  ctx.res.flushHeaders();
  await pipeline(Readable.fromWeb(response.body as never), ctx.res).catch(() => {});
}
