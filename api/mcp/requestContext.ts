import type { AuthInfo, RequestId, ServerContext } from '@modelcontextprotocol/server';
import type { ServiceError } from '../../shared/spec/errors.ts';
import type { State } from '../context.ts';
import type { Principal } from '../pipeline/authenticateBearer.ts';

/** What a handler knows of the request that a message came with. */
export interface McpRequestContext {
  principal: Principal;
  state: State;
  /** Null in the stateless era, which has none. */
  sessionId: string | null;
  /** As the client numbered the message; inside, messages of all clients have numbers of our own. */
  messageId: RequestId | null;
  /** Why a tool is not to be run: the account has made too many requests. */
  rateLimitError: ServiceError | null;
  /** Whether nobody is there any more to be answered. */
  isAborted: () => boolean;
}

/** The call as the library carries it from the transport to the handler. */
export function toAuthInfo(requestContext: McpRequestContext): AuthInfo {
  return { token: '', clientId: '', scopes: [...requestContext.principal.scopes], extra: { requestContext } };
}

export function getMcpRequestContext(context: ServerContext): McpRequestContext {
  return context.http?.authInfo?.extra?.['call'] as McpRequestContext;
}
