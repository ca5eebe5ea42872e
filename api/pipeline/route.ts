import type { RequiredAccess } from '../../shared/domain/accounts/restrictions.ts';
import type { StaffPermission } from '../../shared/spec/staff.ts';
import type { Context, Handler } from '../context.ts';
import type { RateClass } from './rateLimit.ts';

/**
 * Credentials that a route accepts. For programs, with errors as JSON:
 * - `none`: public.
 * - `account`: an API key or the session cookie.
 * - `deferredKey`: as `account`, but the handler's own statement or transaction verifies the key.
 * - `staff`: as `account`, for staff accounts.
 * - `session`: the session cookie only.
 * - `mcp`: an access token or an API key. Requests of browsers must have an allowed origin.
 * - `staffCall`: as `staffSession`, for the scripts of a page.
 *
 * For people, with errors as pages:
 * - `optionalSession`: public. The caller is known if a session cookie is sent.
 * - `pageSession`: the session cookie. Without it the browser is redirected to sign in.
 * - `staffSession`: as `pageSession`, for staff accounts.
 * - `signedLink`: address with a signed token, which authorizes the request. Ignores the session and the origin.
 * - `oauthCallback`: return address of sign-in providers. Ignores the session; forms come from other sites.
 */
export type Authentication =
  | 'none'
  | 'account'
  | 'deferredKey'
  | 'staff'
  | 'session'
  | 'mcp'
  | 'staffCall'
  | 'optionalSession'
  | 'pageSession'
  | 'staffSession'
  | 'signedLink'
  | 'oauthCallback';

/** Credentials that include an API key. Their routes name the access that a restricted key must have. */
export type KeyAuthentication = 'account' | 'deferredKey';
/** Credentials that are a session of the account's owner. */
type SessionAuthentication = 'session' | 'pageSession';
/** Credentials of staff. Their routes name the permission that the role must hold. */
export type StaffAuthentication = 'staff' | 'staffSession' | 'staffCall';
type UnlistedAuthentication = Exclude<Authentication, KeyAuthentication | SessionAuthentication | StaffAuthentication>;

/** A rate class, or `byMessage` if the handler counts the request once it has read the message. */
export type RouteRateLimit = RateClass | 'byMessage';

/** Body that the pipeline reads. `raw`: the handler reads it. */
export type RouteBody = 'none' | 'json' | 'form' | 'raw';

/** Requests for which a session must have a recent sign-in: all of the route, or those that the function selects. */
export type RecentSignIn = 'recentSignIn' | ((ctx: Context) => boolean);

/** Columns of a route that the pipeline uses. */
export interface Route {
  path: string;
  authentication: Authentication;
  rateLimit: RouteRateLimit;
  body: RouteBody;
  handler: Handler;
  /** Access that an API key must have. */
  access: RequiredAccess | undefined;
  /** Permission that the role of a staff member must hold. */
  permission: StaffPermission | undefined;
  recentSignIn: RecentSignIn | undefined;
}

type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | '*';
/** Columns of every route. Method `*` and a path that ends in `/*` stand for all methods and all paths below. */
type RouteColumns<Credentials extends Authentication> = [
  method: RouteMethod,
  path: string,
  authentication: Credentials,
  rateLimit: RouteRateLimit,
  body: RouteBody,
  handler: Handler,
];

/**
 * A route, with the access that an API key must have, or the permission that the role of a staff member must hold, and
 * the requests for which a session must have a recent sign-in.
 */
export type HttpRoute =
  | KeyRoute
  | StaffRoute
  | readonly [...RouteColumns<SessionAuthentication>, recentSignIn?: RecentSignIn]
  | readonly [...RouteColumns<UnlistedAuthentication>, none?: undefined];
type KeyRoute = readonly [...RouteColumns<KeyAuthentication>, access: RequiredAccess, recentSignIn?: RecentSignIn];
export type StaffRoute = readonly [...RouteColumns<StaffAuthentication>, permission: StaffPermission];

/** Returns whether a route is for staff. */
export function isStaffRoute(route: HttpRoute): route is StaffRoute {
  return route[2].startsWith('staff');
}

/** Returns the access that a route requires of an API key; undefined if it takes none. */
export function getRequiredAccess(route: HttpRoute): RequiredAccess | undefined {
  if (isStaffRoute(route)) return 'account';
  return isKeyRoute(route) ? route[6] : undefined;
}

/** Returns the requests of a route for which a session must have a recent sign-in. */
export function getRecentSignIn(route: HttpRoute): RecentSignIn | undefined {
  if (isStaffRoute(route)) return undefined;
  return isKeyRoute(route) ? route[7] : route[6];
}

function isKeyRoute(route: HttpRoute): route is KeyRoute {
  return route[2] === 'account' || route[2] === 'deferredKey';
}
