import type { AuthInfo, RequestId, ServerContext } from '@modelcontextprotocol/server';
import type { ServiceError } from '../../shared/spec/errors.ts';
import type { State } from '../context.ts';
import type { Assistant } from '../oauth/bearer.ts';

/** What a handler knows of the request that a message came with. */
export interface Call {
  assistant: Assistant;
  state: State;
  /** Null in the stateless era, which has none. */
  sessionId: string | null;
  /** As the client numbered the message; inside, messages of all clients have numbers of our own. */
  messageId: RequestId | null;
  /** Why a tool is not to be run: the account has made too many requests. */
  refusal: ServiceError | null;
  /** Whether nobody is there any more to be answered. */
  isGone: () => boolean;
}

/** The call as the library carries it from the transport to the handler. */
export function authInfoOf(call: Call): AuthInfo {
  return { token: '', clientId: '', scopes: [...call.assistant.scopes], extra: { call } };
}

export function callOf(context: ServerContext): Call {
  return context.http?.authInfo?.extra?.['call'] as Call;
}
