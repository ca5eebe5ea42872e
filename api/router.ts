import Router from '@koa/router';
import type Koa from 'koa';
import { config } from '../shared/lib/config.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import { isDevSignInAllowed } from '../shared/lib/signInSettings.ts';
import { ServiceError } from '../shared/spec/errors.ts';
import type { Context, Handler, State } from './context.ts';
import * as mcp from './mcp/endpoint.ts';
import { showConsent, submitConsent } from './oauth/authorize/handler.ts';
import { authorizationServer, jwks, protectedResource } from './oauth/metadata.ts';
import { register } from './oauth/register.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import { describeNotFound } from './pipeline/errors.ts';
import { HttpError } from './pipeline/httpError.ts';
import { consumeRateLimit } from './pipeline/rateLimit.ts';
import type { Authentication, RouteBody, RouteRateLimit } from './pipeline/route.ts';
import { runRoute } from './pipeline/runRoute.ts';
import * as admin from './rest/admin/routes.ts';
import * as affiliate from './rest/affiliate/routes.ts';
import * as apiKeys from './rest/apiKeys/routes.ts';
import * as billing from './rest/billing/routes.ts';
import * as webhooks from './rest/billing/webhook.ts';
import * as generations from './rest/generations/routes.ts';
import { health, ready, serving } from './rest/health/routes.ts';
import * as models from './rest/models/routes.ts';
import * as openapi from './rest/openapi/routes.ts';
import * as session from './rest/session/routes.ts';
import * as usage from './rest/usage/routes.ts';
import { media } from './static/media.ts';
import { stylesheet } from './static/stylesheet.ts';
import * as account from './web/account/handler.ts';
import * as affiliatePages from './web/affiliate/handler.ts';
import * as apiKeyPages from './web/apiKeys/handler.tsx';
import * as applications from './web/applications/handler.tsx';
import * as settings from './web/settings/handler.tsx';
import * as identities from './web/settings/signInMethodHandlers.ts';
import * as billingPage from './web/billing/handler.ts';
import { exportLedger, showLedgerPage } from './web/ledger/handler.tsx';
import * as library from './web/library/handler.tsx';
import { showUsagePage } from './web/usage/handler.tsx';
import * as signIn from './web/signIn/handler.ts';
import { queueBoard } from './web/staff/queueBoard.ts';

type RouteMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE' | '*';
/** Method `*` and a path that ends in `/*` stand for all methods and all paths below. */
export type HttpRoute = readonly [
  method: RouteMethod,
  path: string,
  authentication: Authentication,
  rateLimit: RouteRateLimit,
  body: RouteBody,
  handler: Handler,
];

/** The whole interface: every address, who may use it, how it is counted, and the body that it takes. */
// biome-ignore format: aligned columns.
export const HTTP_ROUTES: readonly HttpRoute[] = [
  ['POST',   '/api/generations/create/',                         'deferredKey',     'create',    'json', generations.create],
  ['GET',    '/api/generations/',                                'account',         'account',   'none', generations.list],
  ['GET',    '/api/generations/:uuid/',                          'deferredKey',     'account',   'none', generations.read],
  ['DELETE', '/api/generations/:uuid/',                          'account',         'account',   'json', generations.remove],

  ['GET',    '/api/models/',                                     'none',            'public',    'none', models.list],

  ['POST',   '/api/keys/create/',                                'account',         'account',   'json', apiKeys.create],
  ['GET',    '/api/keys/',                                       'account',         'account',   'none', apiKeys.list],
  ['POST',   '/api/keys/:uuid/revoke/',                          'account',         'account',   'json', apiKeys.revoke],

  ['GET',    '/api/usage/summary/',                              'account',         'account',   'none', usage.summary],
  ['GET',    '/api/usage/keys/',                                 'account',         'account',   'none', usage.keys],
  ['GET',    '/api/ledger/',                                     'account',         'account',   'none', usage.ledger],

  ['GET',    '/api/billing/plans/',                              'none',            'public',    'none', billing.plans],
  ['GET',    '/api/billing/status/',                             'account',         'account',   'none', billing.status],
  ['POST',   '/api/billing/checkout/',                           'account',         'payment',   'json', billing.checkout],
  ['POST',   '/api/billing/portal/',                             'account',         'payment',   'json', billing.portal],

  ['GET',    '/api/billing/topup/settings/',                     'account',         'account',   'none', billing.readTopupSettings],
  ['PATCH',  '/api/billing/topup/settings/',                     'account',         'payment',   'json', billing.updateTopupSettings],
  ['POST',   '/api/billing/topup/',                              'account',         'payment',   'json', billing.topup],
  ['POST',   '/api/billing/webhooks/processor/',                 'none',            'unlimited', 'raw',  webhooks.receiveProcessorEvent],

  ['POST',   '/api/affiliate/enroll/',                           'account',         'account',   'json', affiliate.enroll],
  ['GET',    '/api/affiliate/status/',                           'account',         'account',   'none', affiliate.status],
  ['POST',   '/api/affiliate/onboarding-link/',                  'account',         'payment',   'json', affiliate.createOnboardingLink],

  ['GET',    '/api/admin/metrics/',                              'staff',           'account',   'none', admin.metrics],

  ['GET',    '/api/health/',                                     'none',            'unlimited', 'none', health],
  ['GET',    '/api/serving/',                                    'none',            'unlimited', 'none', serving],
  ['GET',    '/api/ready/',                                      'none',            'unlimited', 'none', ready],
  ['GET',    '/api/openapi.json',                                'none',            'public',    'none', openapi.openApiDocument(() => servedRoutes())],
  ['GET',    '/api/docs/',                                       'none',            'public',    'none', openapi.docsPage],
  ['GET',    '/api/docs/:file',                                  'none',            'public',    'none', openapi.docsFile],

  ['GET',    '/authentication/social/config/',                   'none',            'public',    'none', session.socialConfig],
  ['GET',    '/authentication/me/',                              'session',         'account',   'none', session.me],
  ['PATCH',  '/authentication/me/',                              'session',         'account',   'json', session.updateMe],
  ['POST',   '/authentication/logout/',                          'session',         'account',   'json', session.logout],
  ['POST',   '/authentication/onboarding/advance/',              'session',         'account',   'json', session.advanceOnboarding],

  ['POST',   '/mcp',                                             'mcp',             'byMessage', 'raw',  mcp.post],
  ['GET',    '/mcp',                                             'mcp',             'byMessage', 'none', mcp.get],
  ['DELETE', '/mcp',                                             'mcp',             'byMessage', 'none', mcp.deleteSession],

  ['GET',    '/authentication/social/:provider/start',           'optionalSession', 'account',   'none', signIn.startProviderSignIn],
  ['GET',    '/authentication/social/:provider/callback',        'oauthCallback',   'public',    'none', signIn.completeProviderSignIn],
  ['POST',   '/authentication/social/:provider/callback',        'oauthCallback',   'public',    'form', signIn.completeProviderSignIn],

  ['GET',    '/',                                                'optionalSession', 'account',   'none', signIn.redirectToAccount],
  ['GET',    '/sign-in',                                         'optionalSession', 'account',   'none', signIn.showSignInPage],

  ['GET',    '/r/:code',                                         'optionalSession', 'account',   'none', affiliate.openReferralLink],

  ['GET',    '/account/',                                        'pageSession',     'account',   'none', account.showOverviewPage],
  ['GET',    '/account/billing/',                                'pageSession',     'account',   'none', billingPage.showBillingPage],
  ['POST',   '/account/billing/topup/',                          'pageSession',     'payment',   'form', billingPage.buyCredits],
  ['POST',   '/account/billing/auto-topup/',                     'pageSession',     'payment',   'form', billingPage.saveAutoTopup],
  ['POST',   '/account/plan/',                                   'pageSession',     'payment',   'form', billingPage.choosePlan],
  ['POST',   '/account/portal/',                                 'pageSession',     'payment',   'form', billingPage.openBillingPortal],
  ['GET',    '/account/keys/',                                   'pageSession',     'account',   'none', apiKeyPages.showKeysPage],
  ['GET',    '/account/applications/',                           'pageSession',     'account',   'none', applications.showApplicationsPage],
  ['GET',    '/account/affiliate/',                              'pageSession',     'account',   'none', affiliatePages.showAffiliatePage],
  ['GET',    '/account/settings/',                               'pageSession',     'account',   'none', settings.showSettingsPage],
  ['GET',    '/account/usage/',                                  'pageSession',     'account',   'none', showUsagePage],
  ['GET',    '/account/ledger/',                                 'pageSession',     'account',   'none', showLedgerPage],
  ['GET',    '/account/ledger/export/',                          'pageSession',     'account',   'none', exportLedger],
  ['GET',    '/account/library/',                                'pageSession',     'account',   'none', library.showLibraryPage],
  ['GET',    '/account/library/:uuid/delete/',                   'pageSession',     'account',   'none', library.confirmDeleteGeneration],
  ['POST',   '/account/library/:uuid/delete/',                   'pageSession',     'account',   'form', library.deleteFromLibrary],
  ['POST',   '/account/profile/',                                'pageSession',     'account',   'form', settings.saveProfile],
  ['POST',   '/account/keys/',                                   'pageSession',     'account',   'form', apiKeyPages.createKey],
  ['GET',    '/account/keys/:uuid/revoke/',                      'pageSession',     'account',   'none', apiKeyPages.confirmRevokeKey],
  ['POST',   '/account/keys/:uuid/revoke/',                      'pageSession',     'account',   'form', apiKeyPages.revokeKey],
  ['GET',    '/account/applications/:uuid/end/',                 'pageSession',     'account',   'none', applications.confirmDisconnectApplication],
  ['POST',   '/account/applications/:uuid/end/',                 'pageSession',     'account',   'form', applications.disconnectConnectedApplication],
  ['POST',   '/account/identities/:provider/link/',              'pageSession',     'account',   'form', identities.startIdentityLink],
  ['GET',    '/account/identities/:uuid/remove/',                'pageSession',     'account',   'none', identities.confirmRemoveIdentity],
  ['POST',   '/account/identities/:uuid/remove/',                'pageSession',     'account',   'form', identities.removeLinkedIdentity],
  ['POST',   '/account/sessions/:uuid/end/',                     'pageSession',     'account',   'form', settings.endOneSession],
  ['GET',    '/account/sessions/end-others/',                    'pageSession',     'account',   'none', settings.confirmEndOtherSessions],
  ['POST',   '/account/sessions/end-others/',                    'pageSession',     'account',   'form', settings.endAllOtherSessions],
  ['POST',   '/account/affiliate/',                              'pageSession',     'account',   'form', affiliatePages.becomeAffiliate],
  ['POST',   '/account/payouts/',                                'pageSession',     'payment',   'form', affiliatePages.startPayoutSetup],
  ['GET',    '/account/payouts/again',                           'pageSession',     'payment',   'none', affiliatePages.restartPayoutSetup],
  ['GET',    '/account/payouts/returned',                        'pageSession',     'payment',   'none', affiliatePages.completePayoutSetup],
  ['POST',   '/account/sign-out/',                               'pageSession',     'account',   'form', account.signOut],

  // Addresses of forms that respond with a page: people reload them or return to them after signing in again.
  ['GET',    '/account/plan/',                                   'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/portal/',                                 'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/billing/topup/',                          'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/billing/auto-topup/',                     'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/profile/',                                'pageSession',     'account',   'none', settings.redirectToSettingsPage],
  ['GET',    '/account/payouts/',                                'pageSession',     'account',   'none', affiliatePages.redirectToAffiliatePage],
  ['GET',    '/account/sign-out/',                               'pageSession',     'account',   'none', account.redirectToOverviewPage],

  ['GET',    '/admin/',                                          'staffSession',    'account',   'none', admin.staffPage],
  ['*',      '/admin/queues/api/*',                              'staffCall',       'account',   'raw',  queueBoard],
  ['*',      '/admin/queues/*',                                  'staffSession',    'account',   'raw',  queueBoard],

  ['GET',    '/authorize',                                       'optionalSession', 'oauth',     'none', showConsent],
  ['POST',   '/authorize',                                       'optionalSession', 'oauth',     'form', submitConsent],
  ['POST',   '/token',                                           'none',            'oauth',     'raw',  token],
  ['POST',   '/register',                                        'none',            'oauth',     'raw',  register],
  ['POST',   '/revoke',                                          'none',            'oauth',     'raw',  revoke],
  ['GET',    '/jwks.json',                                       'none',            'public',    'none', jwks],
  ['GET',    '/.well-known/oauth-protected-resource',            'none',            'public',    'none', protectedResource],
  ['GET',    '/.well-known/oauth-protected-resource/mcp',        'none',            'public',    'none', protectedResource],
  ['GET',    '/.well-known/oauth-authorization-server',          'none',            'public',    'none', authorizationServer],
  ['GET',    '/.well-known/oauth-authorization-server/mcp',      'none',            'public',    'none', authorizationServer],

  // Usually served by a CDN, therefore not counted.
  ['GET',    '/assets/style.css',                                'none',            'unlimited', 'none', stylesheet],
  ['GET',    '/media/:shard/:token/:file',                       'none',            'unlimited', 'none', media],
];

/** Sign-in without a provider, offered in local development only. */
// biome-ignore format: aligned columns.
export const LOCAL_SIGN_IN_ROUTES: readonly HttpRoute[] = [
  ['POST',   '/authentication/dev/sign-in/',                     'none',            'public',    'json', session.signInWithoutProvider],
  ['POST',   '/sign-in',                                         'optionalSession', 'account',   'form', signIn.localSignIn],
];

const servedRoutes = perService(() =>
  isDevSignInAllowed(config) ? [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES] : HTTP_ROUTES,
);

/** Serves the routes of the table. All other requests get a 404, with `Allow` if only the method is wrong. */
export function serveRoutes(): Koa.Middleware<State> {
  const prefixRoutes = servedRoutes().filter(([method]) => method === '*');
  const router = createRouter();
  const serveExact = router.routes() as unknown as Koa.Middleware<State>;
  return async (ctx, next) => {
    const route = prefixRoutes.find(([, path]) => isBelow(ctx.path, path));
    if (route !== undefined) await run(ctx, route);
    else await serveExact(ctx, next);
  };
}

function createRouter(): Router<State> {
  const router = new Router<State>({ sensitive: true });
  for (const route of listExactRoutes()) {
    const [method, path] = route;
    // Registered without the trailing slash, a path matches with and without it.
    // `create` in `/api/generations/create/` is not a uuid, whatever the method.
    const fixed = new Set(
      listExactRoutes()
        .map(([, other]) => other)
        .filter((other) => other !== path && !other.includes(':') && toPathPattern(path).test(other))
        .map(stripTrailingSlash),
    );
    router.register(stripTrailingSlash(path), [method], (ctx) =>
      fixed.has(stripTrailingSlash(ctx.path)) ? notFound(ctx) : run(ctx, route),
    );
  }
  return router;
}

function run(ctx: Context, [, path, authentication, rateLimit, body, handler]: HttpRoute): Promise<void> {
  return runRoute(ctx, { path: path.replace(/\*$/, ''), authentication, rateLimit, body, handler });
}

/** Responds to requests without a route: 404, with `Allow` if the path exists for another method. */
export async function notFound(ctx: Context): Promise<void> {
  // Browsers get a page; programs do not ask for one.
  ctx.state.isPage = ctx.method === 'GET' && ctx.get('accept').includes('text/html');
  await consumeRateLimit(ctx, 'public');
  const paths = new Set(findMatchingPaths(ctx.path));
  const allowed = listExactRoutes()
    .filter(([, path]) => paths.has(path))
    .map(([method]) => method);
  if (allowed.length === 0) throw new ServiceError('not_found', describeNotFound(ctx));
  throw new HttpError('not_found', describeNotFound(ctx), { headers: { allow: [...new Set(allowed)].join(', ') } });
}

/** Lists the paths of the table that match a request: those without parameters, if there are any, otherwise all. */
function findMatchingPaths(requestPath: string): string[] {
  const paths = listExactRoutes()
    .map(([, path]) => path)
    .filter((path) => toPathPattern(path).test(requestPath));
  const fixed = paths.filter((path) => !path.includes(':'));
  return fixed.length > 0 ? fixed : paths;
}

function listExactRoutes(): HttpRoute[] {
  return servedRoutes().filter(([method]) => method !== '*');
}

/** Returns true for `/a/b` and everything below it, if the pattern is `/a/b/*`. */
function isBelow(path: string, pattern: string): boolean {
  return `${path}/`.startsWith(pattern.replace(/\*$/, ''));
}

function stripTrailingSlash(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

function toPathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/\/$/, '').replaceAll(/:\w+/g, '[^/]+')}/?$`);
}
