import type { Caller } from '../../shared/domain/accounts/accounts.ts';
import { hasImageModels } from '../../shared/lib/catalog/catalog.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { type Context, requireCaller } from '../context.ts';
import { authenticateMcp } from '../mcp/authenticate.ts';
import {
  authenticate,
  authenticateOptional,
  authenticateSession,
  evictKey,
  verifyKey,
  verifySession,
} from './authenticate.ts';
import { addTokenChallenge } from './authenticateToken.ts';
import { authorize } from './authorize.ts';
import { isLargeJsonBody, readFormBody, readJsonBody } from './body.ts';
import { countRejection, countRejections } from './countRejectedCredentials.ts';
import { withCurrentKey } from './currentKey.ts';
import { isOtherLocalHostname } from './csrf.ts';
import { readLargeJsonBody, releaseLargeBody } from './largeBodies.ts';
import { consumeRateLimit, isCountedByAddress, type RateClass, refundRateLimit } from './rateLimit.ts';
import { recordLastUsed } from './recordLastUsed.ts';
import type { Authentication, Route } from './route.ts';
import { serviceOrigin } from './serviceOrigin.ts';

const PAGE_AUTHENTICATION: ReadonlySet<Authentication> = new Set([
  'optionalSession',
  'pageSession',
  'staffSession',
  'signedLink',
  'oauthCallback',
]);

/** Routes that ignore the session: their requests come from other sites or programs. */
const WITHOUT_SESSION: ReadonlySet<Authentication> = new Set(['none', 'signedLink', 'oauthCallback']);

/** Runs a request through its route: authenticate, read the body, count, authorize, handle. The same for every surface. */
export function runRoute(ctx: Context, route: Route): Promise<void> {
  const isLarge = mayHaveImages(route) && isLargeJsonBody(ctx);
  const steps = runSteps(ctx, route, isLarge);
  return isLarge ? steps.finally(() => releaseLargeBody(ctx)) : steps;
}

async function runSteps(ctx: Context, route: Route, isLarge: boolean): Promise<void> {
  const { authentication, handler } = route;
  ctx.state.route = route.path;
  ctx.state.isPage = PAGE_AUTHENTICATION.has(authentication);
  if (ctx.state.isPage && !WITHOUT_SESSION.has(authentication) && ctx.method === 'GET' && isOtherLocalHostname(ctx)) {
    return ctx.redirect(serviceOrigin() + ctx.url);
  }
  // Caches must not store responses that belong to an account or contain a key.
  if (!ctx.state.isPage && !['none', 'staffCall'].includes(authentication)) ctx.set('cache-control', 'no-store');
  await authenticateRoute(ctx, authentication);
  // A large body is read for valid keys only.
  if (isLarge) await verifyRouteKey(ctx, authentication);
  // Pages are counted before their form is read: most of them need no credential. Large bodies cost more than the rest.
  let isCounted: boolean = ctx.state.isPage || isLarge;
  if (isCounted) await consumeRateLimit(ctx, getRateClass(ctx, route));
  // For programs a small body comes first: until it is complete, nothing is counted against the account (its key may be
  // revoked).
  const bodyError = route.body === 'none' ? null : await readBody(ctx, route, isLarge).then(() => null, toError);
  if (mustVerifyKey(authentication, bodyError !== null)) await verifyRouteKey(ctx, authentication);
  if (ctx.method !== 'GET') await countRejections(ctx, verifySession(ctx));
  const handle = async () => {
    if (!isCounted) await consumeRateLimit(ctx, getRateClass(ctx, route));
    isCounted = true;
    if (bodyError !== null) throw bodyError;
    if (await authorize(ctx, route)) await handler(ctx);
  };
  try {
    if (authentication === 'deferredKey') await handleWithDeferredKey(ctx, handle);
    else await handle();
  } catch (rejection) {
    if (ctx.state.isPage || authentication === 'staffCall') throw rejection;
    if (rejection instanceof ServiceError && rejection.code === 'invalid_api_key') {
      evictKey(ctx.state.caller?.keyHash);
      await refundRateLimit(ctx, getRateClass(ctx, route));
      const error = addTokenChallenge(rejection, ctx.state.caller, authentication === 'mcp' ? 'mcp' : 'api');
      await countRejection(ctx, error);
      throw error;
    }
    recordLastUsed(ctx);
    throw rejection;
  }
  recordLastUsed(ctx);
}

/** Identifies the caller. A key that this process has seen before is verified once the body is complete. */
async function authenticateRoute(ctx: Context, authentication: Authentication): Promise<void> {
  if (WITHOUT_SESSION.has(authentication)) return;
  if (ctx.state.isPage || authentication === 'staffCall') return authenticateOptional(ctx);
  ctx.state.caller = await countRejections(ctx, authenticateBy(ctx, authentication));
}

function authenticateBy(ctx: Context, authentication: Authentication): Promise<Caller | undefined> {
  if (authentication === 'mcp') return authenticateMcp(ctx);
  return authentication === 'session' ? authenticateSession(ctx) : authenticate(ctx);
}

/** A deferred key is verified by the statement of the handler, which does not run after a rejected body. */
function mustVerifyKey(authentication: Authentication, isBodyRejected: boolean): boolean {
  if (authentication === 'deferredKey') return isBodyRejected;
  return authentication === 'account' || authentication === 'staff';
}

/** Verifies the key of a request whose body is complete: it may have been revoked or changed while the body arrived. */
async function verifyRouteKey(ctx: Context, authentication: Authentication): Promise<void> {
  const caller = authentication === 'deferredKey' ? authenticate(ctx) : Promise.resolve(requireCaller(ctx));
  ctx.state.caller = await countRejections(ctx, caller.then(verifyKey));
}

/** Routes whose body may contain images, if a model takes them. */
const PATHS_WITH_IMAGES: ReadonlySet<string> = new Set(['/api/generations/create/', '/api/generations/estimate/']);

function mayHaveImages({ path }: Route): boolean {
  return PATHS_WITH_IMAGES.has(path) && hasImageModels();
}

async function readBody(ctx: Context, route: Route, isLarge: boolean): Promise<void> {
  if (isLarge) await readLargeJsonBody(ctx);
  else if (route.body === 'json') await readJsonBody(ctx);
  else if (route.body === 'form') ctx.state.form = await readFormBody(ctx);
}

/** Returns the rate class of a request. Pages without a signed-in caller are counted by address. */
function getRateClass(ctx: Context, { authentication, rateLimit }: Route): RateClass {
  if (rateLimit === 'byMessage') return 'unlimited';
  const hasOptionalCaller = ctx.state.isPage || authentication === 'staffCall';
  return hasOptionalCaller && ctx.state.caller === undefined && !isCountedByAddress(rateLimit) ? 'public' : rateLimit;
}

/** Handles a request whose statement verifies the key. */
function handleWithDeferredKey(ctx: Context, handle: () => Promise<void>): Promise<void> {
  return withCurrentKey(requireCaller(ctx), verifyKey, (caller) => {
    ctx.state.caller = caller;
    return handle();
  });
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
