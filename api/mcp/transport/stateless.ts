import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { filterCompleted } from '../../../shared/domain/generations/read.ts';
import { readGeneration } from '../../../shared/domain/generations/read.ts';
import { config } from '../../../shared/lib/config.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { KEEP_ALIVE_INTERVAL_MS, REVALIDATION_INTERVAL_MS } from './sse.ts';
import type { Context } from '../../context.ts';
import { consumeRateLimit } from '../../pipeline/rateLimit.ts';
import { type McpRequestContext, requireConnection, toAuthInfo } from '../requestContext.ts';
import { buildGenerationUri, parseGenerationUri } from '../resources/generationUri.ts';
import { subscribeLocal } from '../resources/subscriptions.ts';
import { buildServer } from '../server.ts';
import { acquireStreamSlot } from './sse.ts';

/**
 * The protocol version without sessions, 2026-07-28. Every request carries all of its context, and the library serves
 * it with a server of its own. Subscriptions are event streams that end with the process; clients open them again.
 */

/** Listeners of the library's streams. Each process has its own set, because updates are published to all processes. */
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
    // Limited per account by acquireStreamSlot instead.
    maxSubscriptions: Number.MAX_SAFE_INTEGER,
    keepAliveMs: KEEP_ALIVE_INTERVAL_MS,
    onerror: (error) => logger.debug({ err: error }, 'stateless MCP request rejected'),
  });

/** Separate handlers: closing one aborts all of its requests, and calls must be answered during a shutdown. */
const callHandler = perService(createStatelessHandler);
const subscriptionHandler = perService(createStatelessHandler);
const state = perService(() => ({ isStopping: false }));

/** Ends the subscription streams of a process that shuts down. Calls in progress are still answered. */
export async function closeStatelessStreams(): Promise<void> {
  state().isStopping = true;
  await subscriptionHandler().close();
}

/**
 * Serves one message of the stateless version.
 * @param revalidate throws when the client's credential is no longer valid: subscription streams end then.
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
    throw new ServiceError('internal_error', 'The server process is shutting down. Try again.', {
      retryAfterSeconds: 1,
    });
  }
  const [parsedBody, generationIds] = isListening
    ? await filterSubscriptions(ctx, message, requestContext)
    : [message, []];
  const releaseSlot = isListening ? acquireStreamSlot(requestContext.caller.accountId) : () => {};
  const revalidation = isListening
    ? setInterval(() => void revalidate().catch(() => abortController.abort()), REVALIDATION_INTERVAL_MS)
    : undefined;
  const unsubscribes = generationIds.map(publishWhenCompleted);
  const previousListeners = new Set(listeners());
  try {
    const response = await (isListening ? subscriptionHandler() : callHandler()).fetch(request, {
      parsedBody,
      authInfo: toAuthInfo(requestContext),
    });
    // Checked after the stream is open, so that generations that completed before are reported, too.
    const addedListeners = [...listeners()].filter((listener) => !previousListeners.has(listener));
    for (const id of generationIds.length > 0 ? await filterCompleted(generationIds) : []) {
      for (const listener of addedListeners) listener(buildUpdateEvent(id));
    }
    if (!isEventStream(response)) requireConnection(requestContext);
    await sendLibraryResponse(ctx, response);
  } finally {
    clearInterval(revalidation);
    for (const unsubscribe of unsubscribes) unsubscribe();
    releaseSlot();
  }
}

function buildUpdateEvent(generationId: string): ServerEvent {
  return { kind: 'resource_updated', uri: buildGenerationUri(generationId) };
}

/** Generations that streams of this process wait for, with the number of streams. */
const subscribedGenerations = perService(() => new Map<string, { streams: number; unsubscribe: () => void }>());

/** Publishes the end of a generation once to all streams that wait for it. @returns a function that ends one wait. */
function publishWhenCompleted(generationId: string): () => void {
  const subscribed = subscribedGenerations();
  const entry = subscribed.get(generationId) ?? {
    streams: 0,
    unsubscribe: subscribeLocal(generationId, () => eventBus.publish(buildUpdateEvent(generationId))),
  };
  subscribed.set(generationId, entry);
  entry.streams += 1;
  return () => {
    entry.streams -= 1;
    if (entry.streams > 0) return;
    subscribed.delete(generationId);
    entry.unsubscribe();
  };
}

/** Maximum number of generations per subscription stream. */
const SUBSCRIPTIONS_MAX = 100;

/** Removes subscriptions to generations that do not exist or belong to another account. The acknowledgement lists the rest. */
async function filterSubscriptions(
  ctx: Context,
  message: JSONRPCRequest | JSONRPCNotification,
  requestContext: McpRequestContext,
): Promise<[JSONRPCRequest | JSONRPCNotification, string[]]> {
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

function pickMcpHeaders(ctx: Context): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(ctx.headers)) {
    // Only the headers that the library checks. Credentials are left out.
    if (typeof value === 'string' && (name === 'content-type' || name === 'accept' || name.startsWith('mcp-'))) {
      headers.set(name, value);
    }
  }
  return headers;
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

/** Sends the library's response to the client. */
async function sendLibraryResponse(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) if (name !== 'connection') ctx.set(name, value);
  if (!isEventStream(response) || response.body === null) {
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
