import type { Caller } from '../../shared/domain/accounts.ts';
import { config } from '../../shared/lib/config.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { identify, verify } from '../middleware/authenticate.ts';

export type Scope = 'svc:read' | 'svc:write';

/** Who speaks to /mcp, and what they may do there. */
export interface Assistant extends Caller {
  scopes: ReadonlySet<Scope>;
  credential: 'key' | 'token';
}

const RESOURCE_METADATA = `resource_metadata="${config.BASE_URL}/.well-known/oauth-protected-resource"`;
const EVERYTHING: ReadonlySet<Scope> = new Set<Scope>(['svc:read', 'svc:write']);

/**
 * Reads the credential of a request to /mcp: an API key, which may do what its account may.
 * @throws ServiceError invalid_api_key, with the challenge that leads a client to the authorization server.
 */
export async function identifyAssistant(ctx: Context): Promise<Assistant> {
  try {
    if (ctx.get('authorization') === '' && ctx.get('x-api-key') === '') {
      throw new ServiceError('invalid_api_key', 'Send an API key as "Authorization: Bearer svc_…".');
    }
    const caller = await identify(ctx);
    await verify(caller);
    return { ...caller, scopes: EVERYTHING, credential: 'key' };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_api_key') throw error;
    const headers = { 'www-authenticate': `Bearer ${RESOURCE_METADATA}` };
    throw new ServiceError('invalid_api_key', error.message, { headers });
  }
}

/**
 * Refuses an assistant that was not allowed this much.
 * @throws ServiceError 403, with the challenge that has the client ask for the scope.
 */
export function requireScope(assistant: Assistant, scope: Scope): void {
  if (assistant.scopes.has(scope)) return;
  const challenge = `Bearer error="insufficient_scope", scope="${scope}", ${RESOURCE_METADATA}`;
  throw new ServiceError('invalid_api_key', `The access token lacks the scope ${scope}.`, {
    status: 403,
    headers: { 'www-authenticate': challenge },
  });
}
