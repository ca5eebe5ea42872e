import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { filterCompleted } from '../../../shared/domain/generations/filterCompleted.ts';
import { readGeneration } from '../../../shared/domain/generations/read.ts';
import { config } from '../../../shared/lib/config.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { MCP_KEEP_ALIVE_MS } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import { consumeRateLimit } from '../../pipeline/rateLimit.ts';
import { toAuthInfo, type McpRequestContext } from '../requestContext.ts';
import { acquireStreamSlot } from './streamLimit.ts';
import { buildServer } from '../server.ts';
import { parseGenerationUri, buildGenerationUri } from '../resources/generationUri.ts';
import { subscribeLocal } from '../resources/subscriptions.ts';

/**
 * The era without sessions, 2026-07-28: every request says all that there is to know, and the library serves it with a
 * server of its own. Subscriptions are streams, which end with the process; a client asks for them anew.
 */

/** Where the library's streams hear of ends. Each process has its own: announcements reach all of them. */
const listeners = perService(() => new Set<(event: ServerEvent) => void>());
const eventBus: ServerEventBus = {
  publish: (event) => {
    for (const listener of listeners()) listener(event);
  },
  subscribe: (listener) => {
    const registered = listeners();
    registered.add(listener);
    return () => registered.delete(listener);
  },
};

const createStatelessHandler = () =>
  createMcpHandler(() => buildServer({ withIcon: false }), {
    legacy: 'reject',
    bus: eventBus,
    // Counted by account instead.
    maxSubscriptions: Number.MAX_SAFE_INTEGER,
    keepAliveMs: MCP_KEEP_ALIVE_MS,
    onerror: (error) => logger.debug({ error: error.message }, 'a stateless MCP request was refused'),
  });

/** Apart from each other, since closing one ends all that it has under way. */
const callHandler = perService(createStatelessHandler);
const subscriptionHandler = perService(createStatelessHandler);
const state = perService(() => ({ isStopping: false }));

/** Ends the streams of this process, for one that stops; calls are answered. */
export async function closeStatelessStreams(): Promise<void> {
  state().isStopping = true;
  await subscriptionHandler().close();
}

/**
 * Serves one message of the stateless era.
 * @param revalidate throws once the client's credentials are no longer valid: streams of subscriptions end then.
 */
export async function handleStateless(
  ctx: Context,
  message: JSONRPCRequest | JSONRPCNotification,
  requestContext: McpRequestContext,
  revalidate: () => Promise<void>,
): Promise<void> {
  const abortController = new AbortController();
  ctx.res.once('close', () => abortController.abort());
  const request = new Request(`${config.BASE_URL}/mcp`, {
    method: 'POST',
    headers: pickMcpHeaders(ctx),
    signal: abortController.signal,
  });
  const isListening = message.method === 'subscriptions/listen' && 'id' in message;
  if (isListening && state().isStopping) {
    throw new ServiceError('internal_error', 'This process is stopping: try again.', {
      retryAfterSeconds: 1,
    });
  }
  const [parsedBody, generationIds] = isListening
    ? await filterSubscriptions(ctx, message, requestContext)
    : [message, []];
  const releaseSlot = isListening ? acquireStreamSlot(requestContext.principal.accountId) : () => {};
  const revalidation = isListening
    ? setInterval(() => void revalidate().catch(() => abortController.abort()), MCP_KEEP_ALIVE_MS)
    : undefined;
  const unsubscribes = generationIds.map(publishWhenCompleted);
  const previousListeners = new Set(listeners());
  try {
    const response = await (isListening ? subscriptionHandler() : callHandler()).fetch(request, {
      parsedBody,
      authInfo: toAuthInfo(requestContext),
    });
    // Looked at once the stream is there: what ended before is told of, too.
    const addedListeners = [...listeners()].filter((listener) => !previousListeners.has(listener));
    for (const id of generationIds.length > 0 ? await filterCompleted(generationIds) : []) {
      for (const listener of addedListeners) listener(buildUpdateEvent(id));
    }
    await sendLibraryResponse(ctx, response);
  } finally {
    clearInterval(revalidation);
    for (const end of unsubscribes) end();
    releaseSlot();
  }
}

function buildUpdateEvent(generationId: string): ServerEvent {
  return { kind: 'resource_updated', uri: buildGenerationUri(generationId) };
}

/** What streams of this process wait for, with how many do. */
const subscribedGenerations = perService(() => new Map<string, { streams: number; unwatch: () => void }>());

/** Has the end of a generation published, once for all streams that wait for it. @returns what ends the wait of one. */
function publishWhenCompleted(generationId: string): () => void {
  const subscribed = subscribedGenerations();
  const entry = subscribed.get(generationId) ?? {
    streams: 0,
    unwatch: subscribeLocal(generationId, () => eventBus.publish(buildUpdateEvent(generationId))),
  };
  subscribed.set(generationId, entry);
  entry.streams += 1;
  return () => {
    entry.streams -= 1;
    if (entry.streams > 0) return;
    subscribed.delete(generationId);
    entry.unwatch();
  };
}

/** Generations that one stream can watch. */
const SUBSCRIPTIONS_MAX = 100;

/** The request without the subscriptions to what is not there, or not the caller's: the acknowledgement says which are left. */
async function filterSubscriptions(
  ctx: Context,
  message: JSONRPCRequest | JSONRPCNotification,
  requestContext: McpRequestContext,
): Promise<[JSONRPCRequest | JSONRPCNotification, string[]]> {
  const params = message.params as { notifications?: { resourceSubscriptions?: unknown } } | undefined;
  const requested = params?.notifications?.resourceSubscriptions;
  if (!Array.isArray(requested)) return [message, []];
  const uris = [...new Set(requested)].slice(0, SUBSCRIPTIONS_MAX);
  // The message itself was counted; each further generation is a read of its own.
  await consumeRateLimit(ctx, 'account', uris.length - 1);
  const checked = await Promise.all(uris.map((uri) => findOwnedGenerationId(uri, requestContext)));
  const ids = [...new Set(checked.filter((id) => id !== null))];
  const notifications = { ...params?.notifications, resourceSubscriptions: ids.map(buildGenerationUri) };
  return [{ ...message, params: { ...params, notifications } }, ids];
}

async function findOwnedGenerationId(uri: unknown, { principal }: McpRequestContext): Promise<string | null> {
  const id = typeof uri === 'string' ? parseGenerationUri(uri) : null;
  if (id === null) return null;
  try {
    return (await readGeneration(principal, id)).uuid;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return null;
    throw error;
  }
}

function pickMcpHeaders(ctx: Context): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(ctx.headers)) {
    // What the library checks; the credentials are none of its business.
    if (typeof value === 'string' && (name === 'content-type' || name === 'accept' || name.startsWith('mcp-'))) {
      headers.set(name, value);
    }
  }
  return headers;
}

/** Passes the library's answer on. */
async function sendLibraryResponse(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) if (name !== 'connection') ctx.set(name, value);
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true || response.body === null) {
    const text = await response.text();
    ctx.body = text === '' ? null : text;
    if (text !== '') ctx.set('content-type', response.headers.get('content-type') ?? 'application/json');
    ctx.status = response.status;
    return;
  }
  ctx.respond = false;
  ctx.res.flushHeaders();
  await pipeline(Readable.fromWeb(response.body as never), ctx.res).catch(() => {});
}
