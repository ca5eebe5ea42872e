import Router from '@koa/router';
import { config } from '../shared/lib/config.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import { offersLocalSignIn } from '../shared/lib/signInSettings.ts';
import { requireStaff } from '../shared/domain/staff.ts';
import { ServiceError } from '../shared/spec/errors.ts';
import { callerOf, type Context, type Handler, type State } from './context.ts';
import { forgetKey, identify, identifySession, touch, verify } from './middleware/authenticate.ts';
import { readBody } from './middleware/body.ts';
import { limit, type RateClass, uncount } from './middleware/rateLimit.ts';
import { admitAssistant } from './mcp/admission.ts';
import * as mcp from './mcp/endpoint.ts';
import { ask, decide } from './oauth/authorize.ts';
import { authorizationServer, jwks, protectedResource } from './oauth/metadata.ts';
import { register } from './oauth/register.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import { isForPages, type PageCredentials, servePage } from './pages/serve.ts';
import * as account from './routes/account.ts';
import * as admin from './routes/admin.ts';
import * as affiliate from './routes/affiliate.ts';
import { stylesheet } from './routes/assets.ts';
import * as billing from './routes/billing.ts';
import * as description from './routes/description.ts';
import * as generations from './routes/generations.ts';
import * as identities from './routes/identities.ts';
import { health, ready } from './routes/health.ts';
import * as keys from './routes/keys.ts';
import { media } from './routes/media.ts';
import * as models from './routes/models.ts';
import * as session from './routes/session.ts';
import * as signIn from './routes/signIn.ts';
import * as usage from './routes/usage.ts';
import * as webhooks from './routes/webhooks.ts';

/**
 * - `none`: public.
 * - `account`: an API key or the session cookie.
 * - `account*`: the same, but the handler's own statement checks the key, so that no round trip is spent on it.
 * - `staff`: as `account`, and the account is one of the staff's.
 * - `session`: the session cookie only.
 * - `assistant`: an access token or an API key, with the page's origin where a browser sends it.
 * - `visitor`, `member`, `operator`, `landing`: pages, for people; see `api/pages/serve.ts`.
 */
type Credentials = 'none' | 'account' | 'account*' | 'staff' | 'session' | 'assistant' | PageCredentials;
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
export type Route = readonly [Method, string, Credentials, RateClass, Handler];

/** The whole interface. */
// biome-ignore format: a table reads best as a table.
export const ROUTES: readonly Route[] = [
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
  ['POST',   '/api/billing/webhooks/processor/',    'none',     'unlimited', webhooks.processorEvent],

  ['POST',   '/api/affiliate/enroll/',              'account',  'account',   affiliate.enroll],
  ['GET',    '/api/affiliate/status/',              'account',  'account',   affiliate.status],
  ['POST',   '/api/affiliate/onboarding-link/',     'account',  'payment',   affiliate.openOnboarding],

  ['GET',    '/api/admin/metrics/',                 'staff',    'account',   admin.metrics],

  ['GET',    '/api/health/',                        'none',     'unlimited', health],
  ['GET',    '/api/ready/',                         'none',     'unlimited', ready],
  ['GET',    '/api/openapi.json',                   'none',     'public',    description.description(() => servedRoutes())],
  ['GET',    '/api/docs/',                          'none',     'public',    description.page],
  ['GET',    '/api/docs/:file',                     'none',     'public',    description.file],

  ['GET',    '/authentication/social/config/',      'none',     'public',    session.socialConfig],
  ['GET',    '/authentication/me/',                 'session',  'account',   session.me],
  ['PATCH',  '/authentication/me/',                 'session',  'account',   session.updateMe],
  ['POST',   '/authentication/logout/',             'session',  'account',   session.logout],
  ['POST',   '/authentication/onboarding/advance/', 'session',  'account',   session.advanceOnboarding],

  // What a message is counted as depends on what is in it.
  ['POST',   '/mcp',                                'assistant', 'unlimited', mcp.post],
  ['GET',    '/mcp',                                'assistant', 'unlimited', mcp.get],
  ['DELETE', '/mcp',                                'assistant', 'unlimited', mcp.remove],

  ['GET',    '/authentication/social/:provider/start',    'visitor', 'account', signIn.start],
  ['GET',    '/authentication/social/:provider/callback', 'landing', 'public', signIn.callback],
  ['POST',   '/authentication/social/:provider/callback', 'landing', 'public', signIn.callback],

  ['GET',    '/',                                   'visitor',  'account',   signIn.root],
  ['GET',    '/sign-in',                            'visitor',  'account',   signIn.signInPage],

  ['GET',    '/r/:code',                            'visitor',  'account',   affiliate.follow],

  ['GET',    '/account/',                           'member',   'account',   account.accountPage],
  ['POST',   '/account/plan/',                      'member',   'payment',   account.choosePlan],
  ['POST',   '/account/portal/',                    'member',   'payment',   account.openBillingPortal],
  ['POST',   '/account/profile/',                   'member',   'account',   account.saveProfile],
  ['POST',   '/account/keys/',                      'member',   'account',   account.createKey],
  ['GET',    '/account/keys/:uuid/revoke/',         'member',   'account',   account.confirmRevokeKey],
  ['POST',   '/account/keys/:uuid/revoke/',         'member',   'account',   account.revokeKey],
  ['GET',    '/account/applications/:uuid/end/',    'member',   'account',   account.confirmEndApplication],
  ['POST',   '/account/applications/:uuid/end/',    'member',   'account',   account.endConnectedApplication],
  ['POST',   '/account/identities/:provider/link/', 'member',   'account',   identities.startLinking],
  ['GET',    '/account/identities/:uuid/remove/',   'member',   'account',   identities.confirmRemoval],
  ['POST',   '/account/identities/:uuid/remove/',   'member',   'account',   identities.remove],
  ['POST',   '/account/sessions/:uuid/end/',        'member',   'account',   account.endOneSession],
  ['GET',    '/account/sessions/end-others/',       'member',   'account',   account.confirmEndOtherSessions],
  ['POST',   '/account/sessions/end-others/',       'member',   'account',   account.endAllOtherSessions],
  ['POST',   '/account/affiliate/',                 'member',   'account',   account.becomeAffiliate],
  ['POST',   '/account/payouts/',                   'member',   'payment',   account.setUpPayouts],
  ['GET',    '/account/payouts/again',              'member',   'payment',   account.setUpPayoutsAgain],
  ['GET',    '/account/payouts/returned',           'member',   'payment',   account.backFromPayouts],
  ['POST',   '/account/sign-out/',                  'member',   'account',   account.signOut],

  // Addresses of forms whose answer is a page: people load it again, or come back to it after a new sign-in.
  ['GET',    '/account/plan/',                      'member',   'account',   account.toAccountPage],
  ['GET',    '/account/portal/',                    'member',   'account',   account.toAccountPage],
  ['GET',    '/account/profile/',                   'member',   'account',   account.toAccountPage],
  ['GET',    '/account/keys/',                      'member',   'account',   account.toAccountPage],
  ['GET',    '/account/affiliate/',                 'member',   'account',   account.toAccountPage],
  ['GET',    '/account/payouts/',                   'member',   'account',   account.toAccountPage],
  ['GET',    '/account/sign-out/',                  'member',   'account',   account.toAccountPage],

  ['GET',    '/admin/',                             'operator', 'account',   admin.staffPage],

  ['GET',    '/authorize',                          'visitor',  'oauth',     ask],
  ['POST',   '/authorize',                          'visitor',  'oauth',     decide],
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
export const LOCAL_ROUTES: readonly Route[] = [
  ['POST',   '/authentication/dev/sign-in/',        'none',     'public',    session.devSignIn],
  ['POST',   '/sign-in',                            'visitor',  'account',   signIn.localSignIn],
];

/** Whose bodies are signed, or are no JSON or have refusals of their own: their handlers take them as they come. */
const TAKEN_AS_THEY_COME = new Set(['/api/billing/webhooks/processor/', '/mcp', '/token', '/register', '/revoke']);

const servedRoutes = perService(() => (offersLocalSignIn(config) ? [...ROUTES, ...LOCAL_ROUTES] : ROUTES));

/** Serves the table's routes; whatever else is asked for is a 404, with `Allow` where only the method is wrong. */
export function createRouter(): Router<State> {
  const router = new Router<State>({ sensitive: true });
  for (const [method, path, credentials, rateClass, handler] of servedRoutes()) {
    // Registered without the slash at the end, a path matches with and without it.
    // `create` in `/api/generations/create/` is not a uuid, whatever the method.
    const fixed = new Set(
      servedRoutes()
        .map(([, other]) => other)
        .filter((other) => other !== path && !other.includes(':') && patternOf(path).test(other))
        .map(withoutSlash),
    );
    router.register(withoutSlash(path), [method], (ctx) =>
      fixed.has(withoutSlash(ctx.path)) ? nothingHere(ctx) : serve(ctx, path, credentials, rateClass, handler),
    );
  }
  return router;
}

async function serve(
  ctx: Context,
  path: string,
  credentials: Credentials,
  rateClass: RateClass,
  handler: Handler,
): Promise<void> {
  ctx.state.route = path;
  if (isForPages(credentials)) return servePage(ctx, credentials, rateClass, handler);
  // What is said to an account, or may have a key in it, is for nobody on the way to keep.
  if (credentials !== 'none') ctx.set('cache-control', 'no-store');
  await admit(ctx, credentials);
  // The body comes first: until it is complete, nothing is counted against the account (its key may be revoked).
  const bodyError = TAKEN_AS_THEY_COME.has(path) ? null : await readBody(ctx).then(() => null, asError);
  // With a body that is refused, the statement that would verify the key does not run.
  if (bodyError !== null && credentials === 'account*') await admit(ctx, 'account');
  try {
    await limit(ctx, rateClass);
    if (credentials === 'staff') await requireStaff(callerOf(ctx), ctx.state.sessionToken);
    if (bodyError !== null) throw bodyError;
    await handler(ctx);
  } catch (error) {
    const refusal = await confirmCaller(ctx, credentials, error);
    if (refusal instanceof ServiceError && refusal.code === 'invalid_api_key') {
      forgetKey(ctx.state.caller?.keyHash);
      await uncount(ctx, rateClass);
      await limit(ctx, 'public');
    } else touch(ctx);
    throw refusal;
  }
  touch(ctx);
}

/** Finds out who asks. Guessing at credentials is counted against the address that it comes from. */
async function admit(ctx: Context, credentials: Credentials): Promise<void> {
  if (credentials === 'none') return;
  try {
    if (credentials === 'assistant') {
      ctx.state.caller = await admitAssistant(ctx);
      return;
    }
    ctx.state.caller = await (credentials === 'session' ? identifySession(ctx) : identify(ctx));
    if (credentials === 'account' || credentials === 'staff') await verify(ctx.state.caller);
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'rate_limited') await limit(ctx, 'public');
    throw error;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * Verifies the key of a request that failed before the statement that would have verified it: 401 goes before every
 * other code. An error of the service stays as it is, with what it says about the outcome.
 */
async function confirmCaller(ctx: Context, credentials: Credentials, error: unknown): Promise<unknown> {
  if (credentials !== 'account*' || ctx.state.caller === undefined) return error;
  if (!(error instanceof ServiceError) || error.code === 'invalid_api_key' || error.code === 'internal_error')
    return error;
  return verify(ctx.state.caller).then(
    () => error,
    (refusal: unknown) => refusal,
  );
}

/** Whatever no route serves: 404, with `Allow` where the address exists for another method. */
export async function nothingHere(ctx: Context): Promise<void> {
  // Somebody who has mistyped an address is told by a page; programs do not ask for one.
  ctx.state.isPage = ctx.method === 'GET' && ctx.get('accept').includes('text/html');
  await limit(ctx, 'public');
  const paths = new Set(pathsAt(ctx.path));
  const allowed = servedRoutes()
    .filter(([, path]) => paths.has(path))
    .map(([method]) => method);
  const headers = allowed.length > 0 ? { allow: [...new Set(allowed)].join(', ') } : undefined;
  throw new ServiceError('not_found', `There is nothing at ${ctx.method} ${ctx.path.slice(0, 200)}.`, { headers });
}

/** The paths of the table that a request's path matches: those without parameters, or else all. */
function pathsAt(asked: string): string[] {
  const paths = servedRoutes()
    .map(([, path]) => path)
    .filter((path) => patternOf(path).test(asked));
  const fixed = paths.filter((path) => !path.includes(':'));
  return fixed.length > 0 ? fixed : paths;
}

function withoutSlash(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\/$/, '').replaceAll(/:\w+/g, '[^/]+')}/?$`);
}
