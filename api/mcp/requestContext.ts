import type { AuthInfo, RequestId, ServerContext } from '@modelcontextprotocol/server';
import type { ServiceError } from '../../shared/spec/errors.ts';
import type { State } from '../context.ts';
import type { Principal } from '../pipeline/authenticateBearer.ts';
import type { ClientFeatures } from './clientFeatures.ts';

/** The HTTP request behind a message, as handlers of tools and resources see it. */
export interface McpRequestContext {
  principal: Principal;
  state: State;
  /** Null for stateless requests, which have no session. */
  sessionId: string | null;
  /** Optional features of the client: those of its session, or those that a stateless request declares. */
  clientFeatures: ClientFeatures;
  /** Id that the client gave the message. The multiplexer replaces it with a number of its own. */
  messageId: RequestId | null;
  /** Set when the account exceeded its rate limit: the tool is not run, and this error is its result. */
  rateLimitError: ServiceError | null;
  /** Returns whether the client has closed the connection. */
  isAborted: () => boolean;
}

/** Wraps the context in the form that the library passes from the transport to the handlers. */
export function toAuthInfo(requestContext: McpRequestContext): AuthInfo {
  return { token: '', clientId: '', scopes: [...requestContext.principal.scopes], extra: { requestContext } };
}

/** Reads the context that {@link toAuthInfo} wrapped. */
export function getMcpRequestContext(context: ServerContext): McpRequestContext {
  return context.http?.authInfo?.extra?.['requestContext'] as McpRequestContext;
}
