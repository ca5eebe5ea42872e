import { type Caller, requireAllowedAddress, requireRight } from '../../shared/domain/accounts/caller.ts';
import { signInNotRecentError } from '../../shared/domain/signIn/recentSignIn.ts';
import { requireStaff } from '../../shared/domain/accounts/staffRights.ts';
import { hasImageModels } from '../../shared/lib/catalog/catalog.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { authenticateMcp } from '../mcp/authenticate.ts';
import { authenticate, authenticateSession } from './authenticate.ts';
import { addTokenChallenge } from './authenticateToken.ts';
import { requireRestAccess } from './scopes.ts';
import { isLargeJsonBody, readJsonBody } from './body.ts';
import { allowOrigin } from './cors.ts';
import { countRejection, countRejections } from './countRejectedCredentials.ts';
import { readLargeJsonBody, releaseLargeBody } from './largeBodies.ts';
import { consumeRateLimit, type RateClass, refundRateLimit } from './rateLimit.ts';
import { mustSignInAgain } from './recentSignIn.ts';
import { recordLastUsed } from './recordLastUsed.ts';
import { getRequiredAccess, type Route } from './route.ts';
import { requireTestAccess } from './testAccess.ts';

/** Runs the request of a program through its route. Errors are JSON, or the form of the protocol. */
export async function runProgramRoute(ctx: Context, route: Route): Promise<void> {
  ctx.state.route = route;
  // Caches must not store responses that belong to an account or contain a key.
  if (route.credential !== 'anyone') ctx.set('cache-control', 'no-store');
  allowOrigin(ctx, route);
  await identify(ctx, route);
  const isLarge = route.hasImages === true && hasImageModels() && isLargeJsonBody(ctx);
  try {
    await readBody(ctx, route, isLarge);
    if (ctx.state.isKeyRecalled !== true) recordLastUsed(ctx);
    await handle(ctx, route);
  } finally {
    if (isLarge) releaseLargeBody(ctx);
  }
}

/**
 * Reads the body and counts the request: a large body, which costs more than the rest, once it is counted, a small one
 * before. A credential that ended meanwhile takes precedence over an error of the body, and nothing is counted against
 * its account.
 */
async function readBody(ctx: Context, route: Route, isLarge: boolean): Promise<void> {
  if (isLarge) await countRequest(ctx, route);
  // A key that was recalled is verified by the handler.
  const isLate = route.body === 'json' && !ctx.req.complete && ctx.state.isKeyRecalled !== true;
  const reading = isLarge ? readLargeJsonBody(ctx) : route.body === 'json' ? readJsonBody(ctx) : undefined;
  const bodyError = (await reading?.then(() => null, toError)) ?? null;
  if (isLate) await identify(ctx, route);
  if (!isLarge) await countRequest(ctx, route);
  if (bodyError !== null) throw await toRejection(ctx, route, bodyError);
}

async function countRequest(ctx: Context, route: Route): Promise<void> {
  try {
    await consumeRateLimit(ctx, getRateClass(route));
  } catch (error) {
    throw await toRejection(ctx, route, error);
  }
}

async function handle(ctx: Context, route: Route): Promise<void> {
  try {
    await authorize(ctx, route);
    ctx.state.hasBegun = true;
    await route.handler(ctx);
    if (ctx.state.isKeyRecalled === true) recordLastUsed(ctx);
  } catch (error) {
    throw await toRejection(ctx, route, error);
  }
}

/** Identifies the caller; once more if the body took longer than that. */
async function identify(ctx: Context, route: Route): Promise<void> {
  if (route.credential === 'anyone') return;
  ctx.state.caller = await countRejections(ctx, authenticateBy(ctx, route));
}

function authenticateBy(ctx: Context, route: Route): Promise<Caller | undefined> {
  if (route.surface === 'mcp') return authenticateMcp(ctx);
  return route.credential === 'session' ? authenticateSession(ctx) : authenticate(ctx, route);
}

function getRateClass({ rateLimit }: Route): RateClass {
  return rateLimit === 'byMessage' ? 'unlimited' : rateLimit;
}

/** Checks that the caller may use the route with this credential. */
async function authorize(ctx: Context, route: Route): Promise<void> {
  const { caller } = ctx.state;
  if (caller === undefined) return;
  const access = getRequiredAccess(route);
  if (access !== undefined) {
    requireAllowedAddress(caller);
    requireRestAccess(caller, access);
  }
  if (route.needs !== undefined) requireRight(caller, route.needs);
  requireTestAccess(ctx, route);
  if (await mustSignInAgain(ctx, route)) throw signInNotRecentError();
  if (route.permission !== undefined) ctx.state.staffRole = await requireStaff(caller, route.permission);
}

/**
 * Returns the error of a request. One whose credential ended while the handler ran is rejected like one that never had
 * a valid credential: it counts against the address, not against the account.
 */
async function toRejection(ctx: Context, route: Route, cause: unknown): Promise<unknown> {
  const error = ctx.state.isKeyRecalled === true ? await decideByPresentKey(ctx, route, cause) : cause;
  if (!(error instanceof ServiceError) || error.code !== 'invalid_api_key') return error;
  await refundRateLimit(ctx, getRateClass(route));
  const rejection = addTokenChallenge(error, ctx.state.caller, route.surface === 'mcp' ? 'mcp' : 'api');
  await countRejection(ctx, rejection);
  return rejection;
}

/**
 * Returns the error of the key, which takes precedence, if a key that was recalled is not valid any more, or may not
 * use the route. An outage stays one: its text says whether the request had an effect.
 */
async function decideByPresentKey(ctx: Context, route: Route, error: unknown): Promise<unknown> {
  if (!isCertain(error)) return error;
  try {
    ctx.state.caller = await authenticateBy(ctx, route);
    recordLastUsed(ctx);
    if (ctx.state.hasBegun === true) await authorize(ctx, route);
    return error;
  } catch (keyError) {
    return isCertain(keyError) ? keyError : error;
  }
}

function isCertain(error: unknown): boolean {
  return error instanceof ServiceError && error.code !== 'internal_error';
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
