import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { requireMember } from '../../shared/domain/accounts/caller.ts';
import { type Config, config } from '../../shared/lib/config.ts';
import { connectForCommands, type RedisClient, waitUntilReady } from '../../shared/lib/redis.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { networkPrefix, sitePrefix } from './networkPrefix.ts';

/**
 * `create`, `payment` and `account` count per account, `public` and `register` per address (docs/decisions.md: Rates).
 * In `account` the sessions of each member count by themselves: a leaked key cannot keep its owner from revoking it.
 * `payment` covers requests to the payment processor, which limits the whole service as one customer: one account must
 * not use up the share of all others. `oauth` counts requests with a known code or token per grant, and others per
 * address: hosted assistants send the requests of all their users from few addresses.
 */
export type RateClass = 'create' | 'payment' | 'account' | 'public' | 'oauth' | 'register' | 'unlimited';
type LimitedRateClass = Exclude<RateClass, 'unlimited'>;
type AddressRateClass = 'public' | 'oauth' | 'register';

const WINDOW_SECONDS = 60;
/** Requests of all networks of one IPv6 site (/48), in multiples of the limit of one network (/64). */
const SITE_FACTOR = 16;
/** Limit for the time that counting may delay a request. */
const RATE_LIMIT_TIMEOUT_MS = 300;
const RATE_LIMIT_SETTINGS = {
  create: 'RATE_CREATES_PER_MINUTE',
  payment: 'RATE_PAYMENTS_PER_MINUTE',
  account: 'RATE_REQUESTS_PER_MINUTE',
  public: 'RATE_PUBLIC_PER_MINUTE',
  oauth: 'RATE_OAUTH_PER_MINUTE',
  register: 'RATE_REGISTRATIONS_PER_MINUTE',
} as const satisfies Record<LimitedRateClass, keyof Config>;

const state = perService(() => ({
  limiters: undefined as Record<LimitedRateClass, RateLimiterRedis> | undefined,
  siteLimiters: undefined as Record<AddressRateClass, RateLimiterRedis> | undefined,
  connection: undefined as RedisClient | undefined,
}));

/**
 * Connects to Redis before the first request, which would otherwise be counted in this process only. Does nothing if
 * RATE_LIMITS is off: nothing is counted then.
 */
export async function openRateLimiters(): Promise<void> {
  if (config.RATE_LIMITS === 'off') return;
  const redis = connectForCommands('limits', RATE_LIMIT_TIMEOUT_MS);
  const limiter = (name: LimitedRateClass, factor = 1) => {
    const options = {
      keyPrefix: `${config.REDIS_PREFIX}:rate:${name}${factor === 1 ? '' : ':site'}`,
      points: config[RATE_LIMIT_SETTINGS[name]] * factor,
      duration: WINDOW_SECONDS,
    };
    // Without Redis each process counts by itself: more generous, but never unlimited and never unavailable.
    return new RateLimiterRedis({
      ...options,
      storeClient: redis,
      insuranceLimiter: new RateLimiterMemory(options),
    });
  };
  state().limiters = {
    create: limiter('create'),
    payment: limiter('payment'),
    account: limiter('account'),
    public: limiter('public'),
    oauth: limiter('oauth'),
    register: limiter('register'),
  };
  state().siteLimiters = {
    public: limiter('public', SITE_FACTOR),
    oauth: limiter('oauth', SITE_FACTOR),
    register: limiter('register', SITE_FACTOR),
  };
  state().connection = redis;
  await waitUntilReady(redis);
}

/**
 * Counts a request against its limit and sets the `RateLimit` headers.
 * @param options.grant grant that the request is counted against instead of its account or address.
 * @throws ServiceError rate_limited, with the time until the next request is allowed.
 */
export async function consumeRateLimit(
  ctx: Context,
  rateClass: RateClass,
  { points = 1, grant = null }: { points?: number; grant?: string | null } = {},
): Promise<void> {
  const { limiters } = state();
  if (rateClass === 'unlimited' || limiters === undefined || points < 1) return;
  const isByAddress = grant === null && isCountedByAddress(rateClass);
  const subject = grant ?? (isByAddress ? networkPrefix(ctx.ip) : getAccountSubject(ctx, rateClass));
  try {
    setRateLimitHeaders(ctx, rateClass, await limiters[rateClass].consume(subject, points));
    if (isByAddress) await consumeSiteLimit(ctx.ip, rateClass, points);
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    setRateLimitHeaders(ctx, rateClass, rejection);
    const seconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
    throw new ServiceError('rate_limited', `Too many requests: wait ${seconds} s, then continue more slowly.`, {
      retryAfterSeconds: seconds,
    });
  }
}

/** Returns what a request of a known caller is counted against: the account, or its member with all sessions. */
function getAccountSubject({ state: { caller } }: Context, rateClass: LimitedRateClass): string {
  const isOfMember = rateClass === 'account' && caller?.credential.kind === 'session';
  return isOfMember ? `${caller.accountId}:${requireMember(caller).number}` : String(caller?.accountId);
}

/** Counts a request against the site of its address, if it is an IPv6 address. */
async function consumeSiteLimit(address: string, rateClass: AddressRateClass, points: number): Promise<void> {
  const site = sitePrefix(address);
  if (site !== null) await state().siteLimiters?.[rateClass].consume(site, points);
}

/**
 * Rejects an address that is over its limit, without counting the request. Used before queries that identify the
 * caller.
 * @throws ServiceError rate_limited, with the time until the next request is allowed.
 */
export async function requireAddressWithinRateLimit(ctx: Context): Promise<void> {
  const { limiters, siteLimiters } = state();
  const site = sitePrefix(ctx.ip);
  const [ofNetwork, ofSite] = await Promise.all([
    limiters?.public.get(networkPrefix(ctx.ip)),
    site === null ? null : siteLimiters?.public.get(site),
  ]);
  const limit = config[RATE_LIMIT_SETTINGS.public];
  if ((ofNetwork?.consumedPoints ?? 0) >= limit || (ofSite?.consumedPoints ?? 0) >= limit * SITE_FACTOR)
    await consumeRateLimit(ctx, 'public');
}

/** Returns true if a class counts per address rather than per account. */
export function isCountedByAddress(rateClass: RateClass): rateClass is AddressRateClass {
  return rateClass === 'public' || rateClass === 'oauth' || rateClass === 'register';
}

function setRateLimitHeaders(
  ctx: Context,
  name: LimitedRateClass,
  { remainingPoints, msBeforeNext }: RateLimiterRes,
): void {
  ctx.set('ratelimit-policy', `"${name}";q=${config[RATE_LIMIT_SETTINGS[name]]};w=${WINDOW_SECONDS}`);
  ctx.set('ratelimit', `"${name}";r=${Math.max(0, remainingPoints)};t=${Math.ceil(msBeforeNext / 1_000)}`);
}

/** Refunds a request that was counted against an account but had no valid key of it. */
export async function refundRateLimit(ctx: Context, rateClass: RateClass): Promise<void> {
  const { limiters } = state();
  if (rateClass === 'unlimited' || limiters === undefined) return;
  await limiters[rateClass].reward(getAccountSubject(ctx, rateClass));
}

export function closeRateLimiters(): void {
  state().connection?.disconnect();
  state().limiters = undefined;
  state().siteLimiters = undefined;
}
