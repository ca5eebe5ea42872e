import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../shared/domain/accounts/caller.ts';
import type { ServiceError } from '../../shared/spec/errors.ts';
import type { State } from '../context.ts';

/** The HTTP request behind a message, as handlers of tools and resources see it. */
export interface McpRequestContext {
  caller: Caller;
  state: State;
  /** Null for stateless requests, which have no session. */
  sessionId: string | null;
  /** True if the client opens pages for its user, as it declared for its session or with a stateless request. */
  elicitsUrls: boolean;
  /** Set when the account exceeded its rate limit: the tool is not run, and this error is its result. */
  rateLimitError: ServiceError | null;
  /** Set when the application was disconnected while the message ran: a response that has not begun becomes a 401. */
  disconnection: ServiceError | null;
  /** Returns whether the client has closed the connection. */
  isAborted: () => boolean;
}

/** Wraps the context in the form that the library passes from the transport to the handlers. */
export function toAuthInfo(requestContext: McpRequestContext): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { requestContext } };
}

/** Reads the context that {@link toAuthInfo} wrapped. */
export function getMcpRequestContext(context: ServerContext): McpRequestContext {
  return context.http?.authInfo?.extra?.['requestContext'] as McpRequestContext;
}

/** Records an error if it says that the application of the message was disconnected. */
export function recordDisconnection(requestContext: McpRequestContext, error: ServiceError): void {
  const isToken = requestContext.caller.credential.kind === 'token';
  if (isToken && error.code === 'invalid_api_key') requestContext.disconnection = error;
}

/** @throws ServiceError invalid_api_key if the application was disconnected while the message ran. */
export function requireConnection({ disconnection }: McpRequestContext): void {
  if (disconnection !== null) throw disconnection;
}
