import { type Caller, getScopes, requireAccess, type RequiredAccess } from '../../shared/domain/accounts/caller.ts';
import type { Resource } from '../../shared/domain/oauth/resources.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { ALL_SCOPES, type KeyScope, type Scope } from '../../shared/spec/oauth.ts';
import { describeMetadata } from './authenticateToken.ts';
import { ChallengeError } from './httpError.ts';

/**
 * Requires a scope of the access token or the API key.
 * @throws HttpError invalid_api_key, 403, with the scopes to request.
 * @throws ServiceError insufficient_scope for an API key, to which no scopes can be added by connecting again.
 */
export function requireScope(caller: Caller, scope: Scope): void {
  const scopes = getScopes(caller);
  if (scopes.has(scope)) return;
  if (caller.credential.kind === 'key') requireAccess(caller, scope);
  const detail = `The access token lacks the scope ${scope}: connect again and allow it.`;
  throw new ChallengeError('invalid_api_key', detail, buildScopeChallenge('mcp', scopes, scope), 403);
}

/**
 * Requires an access of the credential of a REST request.
 * @throws ServiceError insufficient_scope; with the challenge if an application can get the access by connecting again.
 */
export function requireRestAccess(caller: Caller, required: RequiredAccess): void {
  try {
    requireAccess(caller, required);
  } catch (error) {
    const granted = caller.credential.kind === 'token' ? caller.restrictions?.scopes : undefined;
    const isScope = required !== 'account' && required !== 'unrestricted';
    if (!(error instanceof ServiceError) || granted === undefined || !isScope) throw error;
    throw new ChallengeError('insufficient_scope', error.message, buildScopeChallenge('api', granted, required));
  }
}

/** Challenge for a token without a scope. */
function buildScopeChallenge(resource: Resource, granted: ReadonlySet<KeyScope>, required: Scope): string {
  // Includes the granted scopes, so that a client that asks again keeps them.
  const requested = ALL_SCOPES.filter((name) => name === required || granted.has(name)).join(' ');
  return `Bearer error="insufficient_scope", scope="${requested}", ${describeMetadata(resource)}`;
}
