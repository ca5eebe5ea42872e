import { issuer } from '../../shared/domain/oauth/accessTokens.ts';
import { areMetadataDocumentsAdvertised } from '../../shared/domain/oauth/clients.ts';
import { getResourceUrl, type Resource } from '../../shared/domain/oauth/resources.ts';
import { getPublishedKeys } from '../../shared/domain/oauth/signingKeys.ts';
import { config } from '../../shared/lib/config.ts';
import { ALL_SCOPES } from '../../shared/spec/oauth.ts';
import type { Context, Handler } from '../context.ts';

/** Shorter than the time between the publication of a new key and its first signature. */
const METADATA_CACHE_CONTROL = 'public, max-age=300';

/** Protected resource metadata (RFC 9728). */
const describeResource =
  (resource: Resource): Handler =>
  (ctx) => {
    ctx.set('cache-control', METADATA_CACHE_CONTROL);
    ctx.body = {
      resource: getResourceUrl(resource),
      authorization_servers: [issuer()],
      scopes_supported: ALL_SCOPES,
      bearer_methods_supported: ['header'],
      resource_name: config.BRAND_NAME,
    };
  };

export const mcpResource = describeResource('mcp');
export const apiResource = describeResource('api');

/** Authorization server metadata (RFC 8414). */
export async function authorizationServer(ctx: Context): Promise<void> {
  const areDocumentsAdvertised = await areMetadataDocumentsAdvertised();
  ctx.set('cache-control', METADATA_CACHE_CONTROL);
  ctx.body = {
    issuer: issuer(),
    authorization_endpoint: `${issuer()}/authorize`,
    token_endpoint: `${issuer()}/token`,
    registration_endpoint: `${issuer()}/register`,
    revocation_endpoint: `${issuer()}/revoke`,
    jwks_uri: `${issuer()}/jwks.json`,
    scopes_supported: ALL_SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: areDocumentsAdvertised,
  };
}

/** Public keys of the current and the next signing key (RFC 7517). */
export async function jwks(ctx: Context): Promise<void> {
  const keys = await getPublishedKeys();
  ctx.set('cache-control', METADATA_CACHE_CONTROL);
  ctx.body = {
    keys: keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' })),
  };
}
