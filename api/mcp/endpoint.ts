import { isInitializeRequest, type JSONRPCRequest, type JSONRPCResponse } from '@modelcontextprotocol/server';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context, Handler } from '../context.ts';
import { callerOf } from '../context.ts';
import { limit } from '../middleware/rateLimit.ts';
import { type Assistant, identifyAssistant, requireScope } from '../oauth/bearer.ts';
import type { Scope } from '../../shared/spec/oauth.ts';
import type { Call } from './call.ts';
import { EVENT_ID } from './events.ts';
import { exchange, type Forms, formsOf, take } from './exchanges.ts';
import { headerOf, idIn, type Message, messageIn, readMessage, requireKnownVersion } from './messages.ts';
import { showPage, wantsPage } from './page.tsx';
import { BAD_TRANSPORT, Refusal } from './refusal.ts';
import { createSession, endSession, findSession, type Session } from './sessions.ts';
import { serveStateless } from './stateless.ts';
import { serveEvents } from './streams.ts';
import { toolNamed } from './tools/index.ts';

/** The endpoint of the Model Context Protocol: Streamable HTTP, and whom it is for (docs/mcp.md). */

/** One message from a client, and its answer. */
export const post = inTransport(async (ctx) => {
  const forms = formsOf(ctx);
  const body = await readMessage(ctx);
  const call = await admit(ctx, body);
  const message = messageIn(ctx, body);
  if (message.kind === 'stateless') {
    return serveStateless(ctx, message.message, call, () => requireStillWelcome(ctx));
  }
  requireKnownVersion(ctx);
  if (message.kind === 'request' && message.message.method === 'initialize') {
    return initialize(ctx, message.message, call, forms);
  }
  const session = await sessionOf(ctx);
  await serve(ctx, message, { ...call, sessionId: session.id }, forms);
});

/** The event stream of a session; or, in a browser, a page that explains itself. */
export const get = inTransport(async (ctx) => {
  if (wantsPage(ctx)) {
    await limit(ctx, 'public');
    showPage(ctx);
    return;
  }
  await limit(ctx, 'account');
  if (ctx.method === 'HEAD' || !formsOf(ctx).events) {
    throw new Refusal(406, BAD_TRANSPORT, 'GET opens an event stream: send "Accept: text/event-stream".');
  }
  requireKnownVersion(ctx);
  const session = await sessionOf(ctx);
  const lastEventId = headerOf(ctx, 'last-event-id') ?? null;
  if (lastEventId !== null && !EVENT_ID.test(lastEventId)) {
    throw new Refusal(400, BAD_TRANSPORT, 'Last-Event-ID is none that this service gives.');
  }
  await serveEvents(ctx, session, lastEventId, () => requireStillWelcome(ctx));
});

/** Ends a session. */
export const remove = inTransport(async (ctx) => {
  await limit(ctx, 'account');
  requireKnownVersion(ctx);
  await endSession(await sessionOf(ctx));
  ctx.status = 204;
});

/** What the transport refuses is answered as JSON-RPC has it; all else by the envelope of the errors' middleware. */
function inTransport(handler: (ctx: Context) => Promise<void>): Handler {
  return async (ctx) => {
    try {
      await handler(ctx);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      ctx.status = error.status;
      ctx.body = error.body;
    }
  };
}

async function serve(ctx: Context, message: Exclude<Message, { kind: 'stateless' }>, call: Call, forms: Forms) {
  if (message.kind === 'request') return exchange(ctx, message.message, call, forms);
  if (message.kind === 'notification') await take(message.message, call.sessionId);
  ctx.body = null;
  ctx.status = 202;
}

/** A client introduces itself, and gets a session in return. */
async function initialize(ctx: Context, message: JSONRPCRequest, call: Call, forms: Forms): Promise<void> {
  await exchange(ctx, message, call, forms, async (answer: JSONRPCResponse) => {
    if (!isInitializeRequest(message) || !('result' in answer)) return;
    const version = String((answer.result as { protocolVersion?: unknown }).protocolVersion);
    const session = await createSession(call.assistant.accountId, version);
    ctx.set('mcp-session-id', session.id);
  });
}

/**
 * The session that a request names.
 * @throws Refusal 400 where it names none; 404 where there is none (any more), or it is another account's.
 */
async function sessionOf(ctx: Context): Promise<Session> {
  const id = headerOf(ctx, 'mcp-session-id');
  if (id === undefined) {
    throw new Refusal(
      400,
      BAD_TRANSPORT,
      'Mcp-Session-Id is missing: send "initialize" first, and its answer has one.',
    );
  }
  const session = await findSession(id, callerOf(ctx).accountId);
  if (session === null) throw new Refusal(404, BAD_TRANSPORT, 'There is no such session: send "initialize" again.');
  return session;
}

/** Counts a message, and sees to it that the credentials allow what it asks for. */
async function admit(ctx: Context, body: unknown): Promise<Call> {
  const assistant = callerOf(ctx) as Assistant;
  const { scope, rateClass, isCall } = needsOf(body);
  if (scope !== null) requireScope(assistant, scope);
  const call: Call = {
    assistant,
    state: ctx.state,
    sessionId: null,
    messageId: idIn(body),
    refusal: null,
    isGone: () => ctx.res.destroyed,
  };
  try {
    await limit(ctx, rateClass);
    return call;
  } catch (error) {
    // A model is told in words that it goes too fast (spec: Errors, rule 1).
    if (isCall && error instanceof ServiceError) return { ...call, refusal: error };
    throw error;
  }
}

interface Needs {
  scope: Scope | null;
  rateClass: 'create' | 'account';
  isCall: boolean;
}

function needsOf(body: unknown): Needs {
  const { id, method, params } = (body ?? {}) as { id?: unknown; method?: unknown; params?: { name?: unknown } };
  const name = params?.name;
  const tool = method === 'tools/call' && typeof name === 'string' ? toolNamed(name) : undefined;
  if (tool !== undefined) return { scope: tool.scope, rateClass: tool.rateClass, isCall: id !== undefined };
  const readsLibrary =
    typeof method === 'string' && (method.startsWith('resources/') || method.startsWith('subscriptions/'));
  return { scope: readsLibrary ? 'svc:read' : null, rateClass: 'account', isCall: false };
}

/** Ends a stream whose credentials are no longer valid; that they cannot be looked up is no reason to. */
async function requireStillWelcome(ctx: Context): Promise<void> {
  await identifyAssistant(ctx).catch((error: unknown) => {
    if (error instanceof ServiceError) throw error;
  });
}
