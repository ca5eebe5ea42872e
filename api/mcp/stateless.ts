import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { endedAmong } from '../../shared/domain/generations/ended.ts';
import { readGeneration } from '../../shared/domain/generations/read.ts';
import { config } from '../../shared/lib/config.ts';
import { logger } from '../../shared/lib/logger.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { MCP_KEEP_ALIVE_MS } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';
import { limit } from '../middleware/rateLimit.ts';
import { authInfoOf, type Call } from './call.ts';
import { countStream } from './openStreams.ts';
import { buildServer } from './server.ts';
import { generationIn, uriOf } from './uris.ts';
import { watchHere } from './watch.ts';

/**
 * The era without sessions, 2026-07-28: every request says all that there is to know, and the library serves it with a
 * server of its own. Subscriptions are streams, which end with the process; a client asks for them anew.
 */

/** Where the library's streams hear of ends. Each process has its own: announcements reach all of them. */
const listeners = perService(() => new Set<(event: ServerEvent) => void>());
const bus: ServerEventBus = {
  publish: (event) => {
    for (const listener of listeners()) listener(event);
  },
  subscribe: (listener) => {
    const registered = listeners();
    registered.add(listener);
    return () => registered.delete(listener);
  },
};

const newHandler = () =>
  createMcpHandler(() => buildServer({ withIcon: false }), {
    legacy: 'reject',
    bus,
    // Counted by account instead.
    maxSubscriptions: Number.MAX_SAFE_INTEGER,
    keepAliveMs: MCP_KEEP_ALIVE_MS,
    onerror: (error) => logger.debug({ error: error.message }, 'a stateless MCP request was refused'),
  });

/** Apart from each other, since closing one ends all that it has under way. */
const calls = perService(newHandler);
const subscriptions = perService(newHandler);
const state = perService(() => ({ isStopping: false }));

/** Ends the streams of this process, for one that stops; calls are answered. */
export async function endStatelessStreams(): Promise<void> {
  state().isStopping = true;
  await subscriptions().close();
}

/**
 * Serves one message of the stateless era.
 * @param requireWelcome throws once the client's credentials are no longer valid: streams of subscriptions end then.
 */
export async function serveStateless(
  ctx: Context,
  message: JSONRPCRequest | JSONRPCNotification,
  call: Call,
  requireWelcome: () => Promise<void>,
): Promise<void> {
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  const request = new Request(`${config.BASE_URL}/mcp`, {
    method: 'POST',
    headers: headersOf(ctx),
    signal: gone.signal,
  });
  const isListening = message.method === 'subscriptions/listen' && 'id' in message;
  if (isListening && state().isStopping) {
    throw new ServiceError('internal_error', 'This process is stopping: try again.', {
      status: 503,
      headers: { 'retry-after': '1' },
    });
  }
  const [parsedBody, generationIds] = isListening ? await narrowed(ctx, message, call) : [message, []];
  const uncount = isListening ? countStream(call.assistant.accountId) : () => {};
  const checking = isListening
    ? setInterval(() => void requireWelcome().catch(() => gone.abort()), MCP_KEEP_ALIVE_MS)
    : undefined;
  const unwatch = generationIds.map(publishWhenEnded);
  const others = new Set(listeners());
  try {
    const response = await (isListening ? subscriptions() : calls()).fetch(request, {
      parsedBody,
      authInfo: authInfoOf(call),
    });
    // Looked at once the stream is there: what ended before is told of, too.
    const added = [...listeners()].filter((listener) => !others.has(listener));
    for (const id of generationIds.length > 0 ? await endedAmong(generationIds) : []) {
      for (const listener of added) listener(endOf(id));
    }
    await relay(ctx, response);
  } finally {
    clearInterval(checking);
    for (const end of unwatch) end();
    uncount();
  }
}

function endOf(generationId: string): ServerEvent {
  return { kind: 'resource_updated', uri: uriOf(generationId) };
}

/** What streams of this process wait for, with how many do. */
const awaitedGenerations = perService(() => new Map<string, { streams: number; unwatch: () => void }>());

/** Has the end of a generation published, once for all streams that wait for it. @returns what ends the wait of one. */
function publishWhenEnded(generationId: string): () => void {
  const awaited = awaitedGenerations();
  const entry = awaited.get(generationId) ?? {
    streams: 0,
    unwatch: watchHere(generationId, () => bus.publish(endOf(generationId))),
  };
  awaited.set(generationId, entry);
  entry.streams += 1;
  return () => {
    entry.streams -= 1;
    if (entry.streams > 0) return;
    awaited.delete(generationId);
    entry.unwatch();
  };
}

/** Generations that one stream can watch. */
const WATCHED_MAX = 100;

/** The request without the subscriptions to what is not there, or not the caller's: the acknowledgement says which are left. */
async function narrowed(
  ctx: Context,
  message: JSONRPCRequest | JSONRPCNotification,
  call: Call,
): Promise<[JSONRPCRequest | JSONRPCNotification, string[]]> {
  const params = message.params as { notifications?: { resourceSubscriptions?: unknown } } | undefined;
  const wanted = params?.notifications?.resourceSubscriptions;
  if (!Array.isArray(wanted)) return [message, []];
  const uris = [...new Set(wanted)].slice(0, WATCHED_MAX);
  // The message itself was counted; each further generation is a read of its own.
  await limit(ctx, 'account', uris.length - 1);
  const checked = await Promise.all(uris.map((uri) => ownedGeneration(uri, call)));
  const ids = [...new Set(checked.filter((id) => id !== null))];
  const notifications = { ...params?.notifications, resourceSubscriptions: ids.map(uriOf) };
  return [{ ...message, params: { ...params, notifications } }, ids];
}

async function ownedGeneration(uri: unknown, { assistant }: Call): Promise<string | null> {
  const id = typeof uri === 'string' ? generationIn(uri) : null;
  if (id === null) return null;
  try {
    return (await readGeneration(assistant, id)).uuid;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return null;
    throw error;
  }
}

function headersOf(ctx: Context): Headers {
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
async function relay(ctx: Context, response: Response): Promise<void> {
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
