import { parseClientMetadata } from '../../shared/domain/oauth/clientMetadata.ts';
import { registerClient } from '../../shared/domain/oauth/clients.ts';
import { tryParseBoundedJson } from '../../shared/lib/boundedJson.ts';
import { ALL_SCOPES, OAuthError } from '../../shared/spec/oauth.ts';
import type { Context } from '../context.ts';
import { consumeRateLimit } from '../pipeline/rateLimit.ts';
import { readLimitedBody, withOAuthErrors } from './parameters.ts';

/**
 * `POST /register` (RFC 7591): open registration. A client gets access only by a user's consent. All clients are
 * public: one that asks for a secret is registered without, as 3.2.1 allows.
 */
export const register = withOAuthErrors(async (ctx) => {
  await consumeRateLimit(ctx, 'register');
  const client = await registerClient(parseClientMetadata(await readMetadataBody(ctx)));
  ctx.status = 201;
  ctx.body = {
    client_id: client.client_id,
    client_id_issued_at: Math.floor(client.created_at.getTime() / 1_000),
    client_name: client.name,
    redirect_uris: client.redirect_uris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: ALL_SCOPES.join(' '),
  };
});

async function readMetadataBody(ctx: Context): Promise<Record<string, unknown>> {
  // Unknown fields are ignored (RFC 7591, 2), so that the rules for bodies of the API do not apply.
  const value = ctx.is('application/json') ? tryParseBoundedJson((await readLimitedBody(ctx)).toString()) : undefined;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new OAuthError('invalid_client_metadata', 'The body must be a JSON object, sent as application/json.');
}
