import { config } from '../shared/lib/config.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import { isDevSignInAllowed } from '../shared/lib/signInSettings.ts';
import { FEATURES, LOCAL_SIGN_IN } from './features/index.ts';
import { llmsText, serverJson } from './mcp/discovery.ts';
import * as mcp from './mcp/endpoint.ts';
import { allowsAccess, showConsent, submitConsent } from './oauth/authorize/handler.ts';
import { apiResource, authorizationServer, jwks, mcpResource } from './oauth/metadata.ts';
import { register } from './oauth/register.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import type { HttpRoute } from './pipeline/route.ts';
import * as openapi from './openapi/routes.ts';
import { listRoutes } from './features/feature.ts';
import { download } from './static/downloads.ts';
import { asset } from './static/serveAsset.ts';
import { media } from './static/media.ts';
import { setAreaParts } from './web/navigation.ts';

/**
 * The whole interface: every address, who reads its responses, who may use it, how it is counted, the body that it
 * takes, and its policy: the access or the permission that it requires, and everything else that is decided before it
 * runs. docs/routes.md shows it on one page, with the rows of the features.
 */
// biome-ignore format: aligned columns.
export const HTTP_ROUTES: readonly HttpRoute[] = [
  ...FEATURES.flatMap(listRoutes),

  ['GET',     '/api/docs/',                                      'rest', 'anyone',  'public',    'none', openapi.docsPage],
  ['GET',     '/api/docs/:file',                                 'rest', 'anyone',  'public',    'none', openapi.docsFile],

  ['POST',    '/mcp',                                            'mcp',  'account', 'byMessage', 'raw',  mcp.post, { testKeysWrite: true, cors: 'anyOrigin' }],
  ['GET',     '/mcp',                                            'mcp',  'account', 'byMessage', 'none', mcp.get, { cors: 'anyOrigin' }],
  ['DELETE',  '/mcp',                                            'mcp',  'account', 'byMessage', 'none', mcp.deleteSession, { testKeysWrite: true, cors: 'anyOrigin' }],

  ['GET',     '/authorize',                                      'page', 'visitor', 'account',   'none', showConsent, { needs: 'manageKeys' }],
  ['POST',    '/authorize',                                      'page', 'visitor', 'account',   'form', submitConsent, { needs: 'manageKeys', recentSignIn: allowsAccess }],
  ['POST',    '/token',                                          'json', 'anyone',  'byMessage', 'raw',  token, { cors: 'anyOrigin' }],
  ['POST',    '/register',                                       'json', 'anyone',  'byMessage', 'raw',  register, { cors: 'anyOrigin' }],
  ['POST',    '/revoke',                                         'json', 'anyone',  'byMessage', 'raw',  revoke, { cors: 'anyOrigin' }],
  ['GET',     '/jwks.json',                                      'json', 'anyone',  'unlimited', 'none', jwks, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-protected-resource',           'json', 'anyone',  'unlimited', 'none', mcpResource, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-protected-resource/mcp',       'json', 'anyone',  'unlimited', 'none', mcpResource, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-protected-resource/api',       'json', 'anyone',  'unlimited', 'none', apiResource, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-authorization-server',         'json', 'anyone',  'unlimited', 'none', authorizationServer, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-authorization-server/mcp',     'json', 'anyone',  'unlimited', 'none', authorizationServer, { cors: 'anyOrigin' }],
  ['GET',     '/server.json',                                    'json', 'anyone',  'public',    'none', serverJson],
  ['GET',     '/llms.txt',                                       'json', 'anyone',  'public',    'none', llmsText],

  ['GET',     '/downloads/:file',                                'json', 'anyone',  'public',    'none', download],

  // Usually served by a CDN, therefore not counted.
  ['GET',     '/assets/:file',                                   'json', 'anyone',  'unlimited', 'none', asset],
  ['GET',     '/media/:shard/:token/:file',                      'json', 'anyone',  'unlimited', 'none', media, { cors: 'file' }],
];

/** Routes of the sign-in without a provider, offered in local development only. */
export const LOCAL_SIGN_IN_ROUTES = listRoutes(LOCAL_SIGN_IN);

/** Returns the routes of this configuration. */
export const servedRoutes = perService(() =>
  isDevSignInAllowed(config) ? [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES] : HTTP_ROUTES,
);

openapi.serveOpenApiDocument(servedRoutes);
setAreaParts(FEATURES);
