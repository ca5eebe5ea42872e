import type { RequiredAccess } from '../../shared/domain/accounts/caller.ts';
import type { MemberRight } from '../../shared/spec/roles.ts';
import type { StaffPermission } from '../../shared/spec/staff.ts';
import type { Context, Handler } from '../context.ts';
import type { RateClass } from './rateLimit.ts';

/**
 * Readers of the response, which decide about the form of errors and about what browsers may do:
 * - `rest`: programs. Pages of `API_ALLOWED_ORIGINS` may call it.
 * - `json`: other programs, and scripts of the service's own pages.
 * - `mcp`: MCP clients.
 * - `page`: people. Errors are pages, and forms must come from pages of the service.
 */
export type Surface = 'rest' | 'json' | 'mcp' | 'page';

/**
 * Credential that a route requires:
 * - `anyone`: none; a session cookie is ignored.
 * - `visitor`: none; the caller is known if a session cookie is sent.
 * - `session`: the session cookie. People without it are redirected to sign in.
 * - `account`: an API key, an access token, or, except for MCP, the session cookie.
 */
export type RequiredCredential = 'anyone' | 'visitor' | 'session' | 'account';

/** A rate class, or `byMessage` if the handler counts the request once it has read the message. */
export type RouteRateLimit = RateClass | 'byMessage';

/** Body that the pipeline reads. `raw`: the handler reads it. */
export type RouteBody = 'none' | 'json' | 'form' | 'raw';

/** Everything else that is decided before the handler runs. */
export interface RoutePolicy {
  /** Access that an API key or an access token must have: a scope, or `unrestricted` for a key without any option. */
  access?: RequiredAccess;
  /** Right that the role of the member must hold. Not checked for a visitor who is not signed in. */
  needs?: MemberRight;
  /** Permission that the role of a staff member must hold. */
  permission?: StaffPermission;
  /** Requests for which a session must have a recent sign-in: all of the route, or those that the function selects. */
  recentSignIn?: true | ((ctx: Context) => boolean);
  /** Test keys, which can read everywhere, may make changes as well. */
  testKeysWrite?: true;
  /** A page that stays available while the account is being deleted. */
  duringDeletion?: true;
  /** The body may contain images, if a model takes them. */
  hasImages?: true;
  /** The path names a generation, which is read together with the API key. */
  readsGeneration?: true;
  /**
   * The handler verifies the API key once it has locked the account. Until then the pipeline uses the key as this
   * process last read it, unless it has options.
   */
  verifiesKey?: true;
  /** A health check, which is logged at level debug only and never traced. */
  isProbe?: true;
  /** Pages of every origin may call it, with these methods. `file`: a signed or secret address of a file. */
  cors?: 'anyOrigin' | 'file';
}

/** Columns of a route that the pipeline uses. */
export interface Route extends RoutePolicy {
  path: string;
  surface: Surface;
  credential: RequiredCredential;
  rateLimit: RouteRateLimit;
  body: RouteBody;
  handler: Handler;
}

export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | '*';
/** Columns of every route. Method `*` and a path that ends in `/*` stand for all methods and all paths below. */
type RouteColumns<RouteSurface extends Surface, Credential extends RequiredCredential> = [
  method: RouteMethod,
  path: string,
  surface: RouteSurface,
  credential: Credential,
  rateLimit: RouteRateLimit,
  body: RouteBody,
  handler: Handler,
];

/** A route for signed-in people names the right of the role that they must have, or the permission of staff. */
export type SessionPolicy = RoutePolicy &
  (Required<Pick<RoutePolicy, 'needs'>> | Required<Pick<RoutePolicy, 'permission'>>);

/** A route that takes API keys also names the access that they must have. */
export type KeyPolicy = RoutePolicy &
  (Required<Pick<RoutePolicy, 'access' | 'needs'>> | Required<Pick<RoutePolicy, 'permission'>>);
export type HttpRoute =
  | readonly [...RouteColumns<'rest', 'account'>, policy: KeyPolicy]
  | readonly [...RouteColumns<'mcp', 'account'>, policy: RoutePolicy]
  | readonly [...RouteColumns<Surface, 'session'>, policy: SessionPolicy]
  | readonly [...RouteColumns<Surface, 'anyone' | 'visitor'>, policy?: RoutePolicy];

/** The pages of an action: one that asks for confirmation, and the form on it, which performs it. */
export interface ActionPages {
  confirm: Handler;
  submit: Handler;
}

/** Lists the rows of an action of a signed-in person. */
export const actionRoutes = (path: string, pages: ActionPages, policy: SessionPolicy): readonly HttpRoute[] => [
  ['GET', path, 'page', 'session', 'account', 'none', pages.confirm, policy],
  ['POST', path, 'page', 'session', 'account', 'form', pages.submit, policy],
];

/** Returns a row of the route table by the names of its columns. */
export function toRoute([, path, surface, credential, rateLimit, body, handler, policy = {}]: HttpRoute): Route {
  return { path: path.replace(/\*$/, ''), surface, credential, rateLimit, body, handler, ...policy };
}

/** Returns the access that a route requires of an API key; undefined if it takes none. */
export function getRequiredAccess({ credential, permission, access }: Route): RequiredAccess | undefined {
  return credential === 'account' && permission !== undefined ? 'account' : access;
}
