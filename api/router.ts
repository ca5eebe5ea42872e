import Router from '@koa/router';
import { config } from '../shared/lib/config.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import { isDevSignInAllowed } from '../shared/lib/signInSettings.ts';
import { requireStaff } from '../shared/domain/accounts/staff.ts';
import { ServiceError } from '../shared/spec/errors.ts';
import { requireCaller, type Context, type Handler, type State } from './context.ts';
import { evictKey, authenticate, authenticateSession, recordLastUsed, verifyKey } from './pipeline/authenticate.ts';
import { readJsonBody } from './pipeline/body.ts';
import { consumeRateLimit, type RateClass, refundRateLimit } from './pipeline/rateLimit.ts';
import { authenticateMcp } from './mcp/authenticate.ts';
import * as mcp from './mcp/endpoint.ts';
import { showConsent, submitConsent } from './oauth/authorize/handler.ts';
import { authorizationServer, jwks, protectedResource } from './oauth/metadata.ts';
import { register } from './oauth/register.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import { isPageCredentials, type PageCredentials, servePage } from './pipeline/servePage.ts';
import * as account from './web/account/handler.ts';
import * as admin from './rest/admin/routes.ts';
import * as affiliate from './rest/affiliate/routes.ts';
import { stylesheet } from './static/stylesheet.ts';
import * as billing from './rest/billing/routes.ts';
import * as description from './rest/openapi/routes.ts';
import * as generations from './rest/generations/routes.ts';
import * as identities from './web/account/signInMethodHandlers.ts';
import { health, ready } from './rest/health/routes.ts';
import * as keys from './rest/apiKeys/routes.ts';
import { media } from './static/media.ts';
import * as models from './rest/models/routes.ts';
import * as session from './rest/session/routes.ts';
import * as signIn from './web/signIn/handler.ts';
import * as usage from './rest/usage/routes.ts';
import * as webhooks from './rest/billing/webhook.ts';

/**
 * - `none`: public.
 * - `account`: an API key or the session cookie.
 * - `account*`: the same, but the handler's own statement checks the key, so that no round trip is spent on it.
 * - `staff`: as `account`, and the account is one of the staff's.
 * - `session`: the session cookie only.
 * - `assistant`: an access token or an API key, with the page's origin where a browser sends it.
 * - `visitor`, `member`, `operator`, `landing`: pages, for people; see `api/pipeline/servePage.ts`.
 */
type RouteCredentials = 'none' | 'account' | 'account*' | 'staff' | 'session' | 'assistant' | PageCredentials;
type RouteMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';
export type HttpRoute = readonly [RouteMethod, string, RouteCredentials, RateClass, Handler];

/** The whole interface. */
// biome-ignore format: a table reads best as a table.
export const HTTP_ROUTES: readonly HttpRoute[] = [
  ['POST',   '/api/generations/create/',            'account*', 'create',    generations.create],
  ['GET',    '/api/generations/',                   'account',  'account',   generations.list],
  ['GET',    '/api/generations/:uuid/',             'account*', 'account',   generations.read],
  ['DELETE', '/api/generations/:uuid/',             'account',  'account',   generations.remove],

  ['GET',    '/api/models/',                        'none',     'public',    models.list],

  ['POST',   '/api/keys/create/',                   'account',  'account',   keys.create],
  ['GET',    '/api/keys/',                          'account',  'account',   keys.list],
  ['POST',   '/api/keys/:uuid/revoke/',             'account',  'account',   keys.revoke],

  ['GET',    '/api/usage/summary/',                 'account',  'account',   usage.summary],
  ['GET',    '/api/ledger/',                        'account',  'account',   usage.ledger],

  ['GET',    '/api/billing/plans/',                 'none',     'public',    billing.plans],
  ['GET',    '/api/billing/status/',                'account',  'account',   billing.status],
  ['POST',   '/api/billing/checkout/',              'account',  'payment',   billing.checkout],
  ['POST',   '/api/billing/portal/',                'account',  'payment',   billing.portal],

  ['GET',    '/api/billing/topup/settings/',        'account',  'account',   billing.readTopupSettings],
  ['PATCH',  '/api/billing/topup/settings/',        'account',  'payment',   billing.updateTopupSettings],
  ['POST',   '/api/billing/topup/',                 'account',  'payment',   billing.topup],
  ['POST',   '/api/billing/webhooks/processor/',    'none',     'unlimited', webhooks.receiveProcessorEvent],

  ['POST',   '/api/affiliate/enroll/',              'account',  'account',   affiliate.enroll],
  ['GET',    '/api/affiliate/status/',              'account',  'account',   affiliate.status],
  ['POST',   '/api/affiliate/onboarding-link/',     'account',  'payment',   affiliate.createOnboardingLink],

  ['GET',    '/api/admin/metrics/',                 'staff',    'account',   admin.metrics],

  ['GET',    '/api/health/',                        'none',     'unlimited', health],
  ['GET',    '/api/ready/',                         'none',     'unlimited', ready],
  ['GET',    '/api/openapi.json',                   'none',     'public',    description.openApiDocument(() => servedRoutes())],
  ['GET',    '/api/docs/',                          'none',     'public',    description.docsPage],
  ['GET',    '/api/docs/:file',                     'none',     'public',    description.docsFile],

  ['GET',    '/authentication/social/config/',      'none',     'public',    session.socialConfig],
  ['GET',    '/authentication/me/',                 'session',  'account',   session.me],
  ['PATCH',  '/authentication/me/',                 'session',  'account',   session.updateMe],
  ['POST',   '/authentication/logout/',             'session',  'account',   session.logout],
  ['POST',   '/authentication/onboarding/advance/', 'session',  'account',   session.advanceOnboarding],

  // What a message is counted as depends on what is in it.
  ['POST',   '/mcp',                                'assistant', 'unlimited', mcp.post],
  ['GET',    '/mcp',                                'assistant', 'unlimited', mcp.get],
  ['DELETE', '/mcp',                                'assistant', 'unlimited', mcp.deleteSession],

  ['GET',    '/authentication/social/:provider/start',    'visitor', 'account', signIn.startProviderSignIn],
  ['GET',    '/authentication/social/:provider/callback', 'landing', 'public', signIn.completeProviderSignIn],
  ['POST',   '/authentication/social/:provider/callback', 'landing', 'public', signIn.completeProviderSignIn],

  ['GET',    '/',                                   'visitor',  'account',   signIn.redirectToAccount],
  ['GET',    '/sign-in',                            'visitor',  'account',   signIn.showSignInPage],

  ['GET',    '/r/:code',                            'visitor',  'account',   affiliate.openReferralLink],

  ['GET',    '/account/',                           'member',   'account',   account.showAccountPage],
  ['POST',   '/account/plan/',                      'member',   'payment',   account.choosePlan],
  ['POST',   '/account/portal/',                    'member',   'payment',   account.openBillingPortal],
  ['POST',   '/account/profile/',                   'member',   'account',   account.saveProfile],
  ['POST',   '/account/keys/',                      'member',   'account',   account.createKey],
  ['GET',    '/account/keys/:uuid/revoke/',         'member',   'account',   account.confirmRevokeKey],
  ['POST',   '/account/keys/:uuid/revoke/',         'member',   'account',   account.revokeKey],
  ['GET',    '/account/applications/:uuid/end/',    'member',   'account',   account.confirmDisconnectApplication],
  ['POST',   '/account/applications/:uuid/end/',    'member',   'account',   account.disconnectConnectedApplication],
  ['POST',   '/account/identities/:provider/link/', 'member',   'account',   identities.startIdentityLink],
  ['GET',    '/account/identities/:uuid/remove/',   'member',   'account',   identities.confirmRemoveIdentity],
  ['POST',   '/account/identities/:uuid/remove/',   'member',   'account',   identities.removeLinkedIdentity],
  ['POST',   '/account/sessions/:uuid/end/',        'member',   'account',   account.endOneSession],
  ['GET',    '/account/sessions/end-others/',       'member',   'account',   account.confirmEndOtherSessions],
  ['POST',   '/account/sessions/end-others/',       'member',   'account',   account.endAllOtherSessions],
  ['POST',   '/account/affiliate/',                 'member',   'account',   account.becomeAffiliate],
  ['POST',   '/account/payouts/',                   'member',   'payment',   account.startPayoutSetup],
  ['GET',    '/account/payouts/again',              'member',   'payment',   account.restartPayoutSetup],
  ['GET',    '/account/payouts/returned',           'member',   'payment',   account.completePayoutSetup],
  ['POST',   '/account/sign-out/',                  'member',   'account',   account.signOut],

  // Addresses of forms whose answer is a page: people load it again, or come back to it after a new sign-in.
  ['GET',    '/account/plan/',                      'member',   'account',   account.redirectToAccountPage],
  ['GET',    '/account/portal/',                    'member',   'account',   account.redirectToAccountPage],
  ['GET',    '/account/profile/',                   'member',   'account',   account.redirectToAccountPage],
  ['GET',    '/account/keys/',                      'member',   'account',   account.redirectToAccountPage],
  ['GET',    '/account/affiliate/',                 'member',   'account',   account.redirectToAccountPage],
  ['GET',    '/account/payouts/',                   'member',   'account',   account.redirectToAccountPage],
  ['GET',    '/account/sign-out/',                  'member',   'account',   account.redirectToAccountPage],

  ['GET',    '/admin/',                             'operator', 'account',   admin.staffPage],

  ['GET',    '/authorize',                          'visitor',  'oauth',     showConsent],
  ['POST',   '/authorize',                          'visitor',  'oauth',     submitConsent],
  ['POST',   '/token',                              'none',     'oauth',     token],
  ['POST',   '/register',                           'none',     'oauth',     register],
  ['POST',   '/revoke',                             'none',     'oauth',     revoke],
  ['GET',    '/jwks.json',                          'none',     'public',    jwks],
  ['GET',    '/.well-known/oauth-protected-resource',       'none', 'public', protectedResource],
  ['GET',    '/.well-known/oauth-protected-resource/mcp',   'none', 'public', protectedResource],
  ['GET',    '/.well-known/oauth-authorization-server',     'none', 'public', authorizationServer],
  ['GET',    '/.well-known/oauth-authorization-server/mcp', 'none', 'public', authorizationServer],

  // A CDN in front takes these; they are not counted.
  ['GET',    '/assets/style.css',                   'none',     'unlimited', stylesheet],
  ['GET',    '/media/:shard/:token/:file',          'none',     'unlimited', media],
];

/** Offered only where everybody may be everybody: on a developer's own machine. */
// biome-ignore format: as above.
export const LOCAL_SIGN_IN_ROUTES: readonly HttpRoute[] = [
  ['POST',   '/authentication/dev/sign-in/',        'none',     'public',    session.devSignIn],
  ['POST',   '/sign-in',                            'visitor',  'account',   signIn.localSignIn],
];

/** Whose bodies are signed, or are no JSON or have refusals of their own: their handlers take them as they come. */
const RAW_BODY_PATHS = new Set(['/api/billing/webhooks/processor/', '/mcp', '/token', '/register', '/revoke']);

const servedRoutes = perService(() =>
  isDevSignInAllowed(config) ? [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES] : HTTP_ROUTES,
);

/** Serves the table's routes; whatever else is asked for is a 404, with `Allow` where only the method is wrong. */
export function createRouter(): Router<State> {
  const router = new Router<State>({ sensitive: true });
  for (const [method, path, credentials, rateClass, handler] of servedRoutes()) {
    // Registered without the slash at the end, a path matches with and without it.
    // `create` in `/api/generations/create/` is not a uuid, whatever the method.
    const fixed = new Set(
      servedRoutes()
        .map(([, other]) => other)
        .filter((other) => other !== path && !other.includes(':') && toPathPattern(path).test(other))
        .map(stripTrailingSlash),
    );
    router.register(stripTrailingSlash(path), [method], (ctx) =>
      fixed.has(stripTrailingSlash(ctx.path))
        ? notFound(ctx)
        : serveApiRoute(ctx, path, credentials, rateClass, handler),
    );
  }
  return router;
}

async function serveApiRoute(
  ctx: Context,
  path: string,
  credentials: RouteCredentials,
  rateClass: RateClass,
  handler: Handler,
): Promise<void> {
  ctx.state.route = path;
  if (isPageCredentials(credentials)) return servePage(ctx, credentials, rateClass, handler);
  // What is said to an account, or may have a key in it, is for nobody on the way to keep.
  if (credentials !== 'none') ctx.set('cache-control', 'no-store');
  await authenticateRoute(ctx, credentials);
  // The body comes first: until it is complete, nothing is counted against the account (its key may be revoked).
  const bodyError = RAW_BODY_PATHS.has(path) ? null : await readJsonBody(ctx).then(() => null, toError);
  // With a body that is refused, the statement that would verify the key does not run.
  if (bodyError !== null && credentials === 'account*') await authenticateRoute(ctx, 'account');
  try {
    await consumeRateLimit(ctx, rateClass);
    if (credentials === 'staff') await requireStaff(requireCaller(ctx), ctx.state.sessionToken);
    if (bodyError !== null) throw bodyError;
    await handler(ctx);
  } catch (error) {
    const rejection = await verifyDeferredKey(ctx, credentials, error);
    if (rejection instanceof ServiceError && rejection.code === 'invalid_api_key') {
      evictKey(ctx.state.caller?.keyHash);
      await refundRateLimit(ctx, rateClass);
      await consumeRateLimit(ctx, 'public');
    } else recordLastUsed(ctx);
    throw rejection;
  }
  recordLastUsed(ctx);
}

/** Finds out who asks. Guessing at credentials is counted against the address that it comes from. */
async function authenticateRoute(ctx: Context, credentials: RouteCredentials): Promise<void> {
  if (credentials === 'none') return;
  try {
    if (credentials === 'assistant') {
      ctx.state.caller = await authenticateMcp(ctx);
      return;
    }
    ctx.state.caller = await (credentials === 'session' ? authenticateSession(ctx) : authenticate(ctx));
    if (credentials === 'account' || credentials === 'staff') await verifyKey(ctx.state.caller);
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'rate_limited') await consumeRateLimit(ctx, 'public');
    throw error;
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * Verifies the key of a request that failed before the statement that would have verified it: 401 goes before every
 * other code. An error of the service stays as it is, with what it says about the outcome.
 */
async function verifyDeferredKey(ctx: Context, credentials: RouteCredentials, error: unknown): Promise<unknown> {
  if (credentials !== 'account*' || ctx.state.caller === undefined) return error;
  if (!(error instanceof ServiceError) || error.code === 'invalid_api_key' || error.code === 'internal_error')
    return error;
  return verifyKey(ctx.state.caller).then(
    () => error,
    (refusal: unknown) => refusal,
  );
}

/** Whatever no route serves: 404, with `Allow` where the address exists for another method. */
export async function notFound(ctx: Context): Promise<void> {
  // Somebody who has mistyped an address is told by a page; programs do not ask for one.
  ctx.state.isPage = ctx.method === 'GET' && ctx.get('accept').includes('text/html');
  await consumeRateLimit(ctx, 'public');
  const paths = new Set(findMatchingPaths(ctx.path));
  const allowed = servedRoutes()
    .filter(([, path]) => paths.has(path))
    .map(([method]) => method);
  const headers = allowed.length > 0 ? { allow: [...new Set(allowed)].join(', ') } : undefined;
  throw new ServiceError('not_found', `There is nothing at ${ctx.method} ${ctx.path.slice(0, 200)}.`, { headers });
}

/** The paths of the table that a request's path matches: those without parameters, or else all. */
function findMatchingPaths(requestPath: string): string[] {
  const paths = servedRoutes()
    .map(([, path]) => path)
    .filter((path) => toPathPattern(path).test(requestPath));
  const fixed = paths.filter((path) => !path.includes(':'));
  return fixed.length > 0 ? fixed : paths;
}

function stripTrailingSlash(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

function toPathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/\/$/, '').replaceAll(/:\w+/g, '[^/]+')}/?$`);
}
