import { type Caller, requireAllowedAddress } from '../../shared/domain/accounts/caller.ts';
import { verifyApiKey } from '../../shared/domain/accounts/credentials.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { authenticateAccessToken, buildInvalidTokenChallenge, describeMetadata } from './authenticateToken.ts';
import { readHeaderCredential } from './credentials.ts';
import { ChallengeError, HttpError } from './httpError.ts';
import { recordKeyUse } from './recordLastUsed.ts';

/**
 * Authenticates a request by its OAuth access token or API key. The database is queried each time, so that a revoked
 * key or a disconnected application is rejected immediately.
 * @throws HttpError invalid_api_key, with the `WWW-Authenticate` header from which a client starts its authorization.
 * @throws ServiceError insufficient_scope if an API key may not be used from the address of the client.
 */
export async function authenticateBearer(ctx: Context): Promise<Caller> {
  try {
    const credential = readHeaderCredential(ctx);
    if (credential === undefined) throw missingCredentialError();
    if (credential.kind === 'token') return await authenticateAccessToken(credential.token, 'mcp');
    const caller = await verifyApiKey(credential);
    requireAllowedAddress(caller);
    recordKeyUse(caller);
    return caller;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_api_key' || error instanceof HttpError) throw error;
    const headers = { 'www-authenticate': buildInvalidTokenChallenge('mcp') };
    throw new HttpError('invalid_api_key', error.message, { headers });
  }
}

function missingCredentialError(): ChallengeError {
  const detail = 'Connect by OAuth, or send an API key as "Authorization: Bearer svc_…".';
  return new ChallengeError('invalid_api_key', detail, `Bearer ${describeMetadata('mcp')}`);
}
