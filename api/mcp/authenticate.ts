import type { Caller } from '../../shared/domain/accounts/caller.ts';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import type { Scope } from '../../shared/spec/oauth.ts';
import { type Context, requireCaller } from '../context.ts';
import { authenticateBearer } from '../pipeline/authenticateBearer.ts';
import { requireRight } from '../../shared/domain/accounts/caller.ts';
import { requireScope } from '../pipeline/scopes.ts';
import { consumeRateLimit } from '../pipeline/rateLimit.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { HttpError } from '../pipeline/httpError.ts';
import { serviceOrigin } from '../pipeline/serviceOrigin.ts';
import { isBrowserRequest } from './infoPage.tsx';
import { declaresUrlElicitation } from './tools/urlElicitation.ts';
import type { McpRequestContext } from './requestContext.ts';
import type { Tool } from './tools/defineTool.ts';
import { findTool } from './tools/index.ts';

const allowedOrigins = perService(
  () => new Set([serviceOrigin(), ...config.MCP_ALLOWED_ORIGINS.split(',').map((origin) => origin.trim())]),
);

/**
 * Authenticates a request to /mcp before its body is read. The info page for browsers needs no credential.
 * @throws ServiceError 403 for a page of another origin; invalid_api_key.
 */
export async function authenticateMcp(ctx: Context): Promise<Caller | undefined> {
  if (isBrowserRequest(ctx)) return undefined;
  requireAllowedOrigin(ctx);
  return authenticateBearer(ctx);
}

/** Rejects pages of unknown origins (MCP: Streamable HTTP, Security). Only browsers send an Origin header. */
function requireAllowedOrigin(ctx: Context): void {
  const { origin } = ctx.headers;
  if (origin === undefined || allowedOrigins().has(origin) || allowedOrigins().has('*')) return;
  const detail = 'Origin is not allowed to call /mcp. Ask the operator to add it to MCP_ALLOWED_ORIGINS.';
  throw new HttpError('validation_error', detail, { status: 403 });
}

/**
 * Checks that the credential has the scope that a message needs, and counts the message against the rate limit.
 * @param isBodyLate true if the body was not complete when the request was authenticated. The credential may have ended
 *   meanwhile, so it is checked again.
 * @throws ServiceError invalid_api_key with status 403, or insufficient_scope, without the scope or the right of the
 *   role; rate_limited, except for calls of tools.
 */
export async function authorizeMessage(ctx: Context, body: unknown, isBodyLate: boolean): Promise<McpRequestContext> {
  const { scope, rateClass, isCall } = getMessageRequirements(body);
  const caller = isBodyLate ? await authenticateBearer(ctx) : requireCaller(ctx);
  ctx.state.caller = caller;
  if (scope !== null) requireScope(caller, scope);
  // A tool checks its right itself, and returns the error as its result.
  if (scope !== null && !isCall) requireRight(caller, 'viewGenerations');
  const requestContext: McpRequestContext = {
    caller,
    state: ctx.state,
    sessionId: null,
    elicitsUrls: declaresUrlElicitation((body as { params?: unknown } | null | undefined)?.params),
    rateLimitError: null,
    disconnection: null,
    isAborted: () => ctx.res.destroyed,
  };
  try {
    await consumeRateLimit(ctx, rateClass);
    return requestContext;
  } catch (error) {
    // A tool call returns the error as its result, so that the model can read it (spec: Errors, rule 1).
    if (isCall && error instanceof ServiceError) return { ...requestContext, rateLimitError: error };
    throw error;
  }
}

/** Methods that read the library begin with one of these. Completions list the generations of the account. */
const LIBRARY_METHODS = ['resources/', 'subscriptions/', 'completion/'];

function getMessageRequirements(body: unknown): Pick<Tool, 'rateClass'> & { scope: Scope | null; isCall: boolean } {
  const { id, method, params } = (body ?? {}) as {
    id?: unknown;
    method?: unknown;
    params?: { name?: unknown; arguments?: { dry_run?: unknown } | null };
  };
  const name = params?.name;
  const tool = method === 'tools/call' && typeof name === 'string' ? findTool(name) : undefined;
  if (tool !== undefined) {
    // An estimate counts as a read, as over REST.
    const rateClass = params?.arguments?.dry_run === true ? 'account' : tool.rateClass;
    return { scope: tool.scope, rateClass, isCall: id !== undefined };
  }
  const readsLibrary = typeof method === 'string' && LIBRARY_METHODS.some((prefix) => method.startsWith(prefix));
  return { scope: readsLibrary ? 'svc:read' : null, rateClass: 'account', isCall: false };
}

/**
 * Checks the credential of an open stream again. A failure of the check itself, such as a database outage, passes.
 * @throws ServiceError when the credential is no longer valid: the stream ends.
 */
export async function revalidateCredentials(ctx: Context): Promise<void> {
  await authenticateBearer(ctx).catch((error: unknown) => {
    if (error instanceof ServiceError) throw error;
  });
}
