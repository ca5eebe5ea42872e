import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { type Config, config } from '../../shared/lib/config.ts';
import { connectForCommands, waitUntilReady } from '../../shared/lib/redis.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { networkPrefix } from './networkPrefix.ts';

/**
 * `create`, `payment` and `account` count an account's requests, `public` and `oauth` those of an address
 * (docs/decisions.md: Rates). `payment` is what asks the payment processor for something: it counts us as one customer,
 * so that one account could otherwise take its time from all others.
 */
export type RateClass = 'create' | 'payment' | 'account' | 'public' | 'oauth' | 'unlimited';
type LimitedRateClass = Exclude<RateClass, 'unlimited'>;

const WINDOW_SECONDS = 60;
/** Counting holds a request up no longer than this. */
const RATE_LIMIT_TIMEOUT_MS = 300;
const RATE_LIMIT_SETTINGS = {
  create: 'RATE_CREATES_PER_MINUTE',
  payment: 'RATE_PAYMENTS_PER_MINUTE',
  account: 'RATE_REQUESTS_PER_MINUTE',
  public: 'RATE_PUBLIC_PER_MINUTE',
  oauth: 'RATE_OAUTH_PER_MINUTE',
} as const satisfies Record<LimitedRateClass, keyof Config>;

const state = perService(() => ({
  limiters: undefined as Record<LimitedRateClass, RateLimiterRedis> | undefined,
  connection: undefined as Redis | undefined,
}));

/**
 * Connects ahead of the first request, which this process would otherwise count alone. Where limits are off there is
 * nothing to open, and nothing is counted.
 */
export async function openRateLimiters(): Promise<void> {
  if (config.RATE_LIMITS === 'off') return;
  const redis = connectForCommands('limits', RATE_LIMIT_TIMEOUT_MS);
  const limiter = (name: LimitedRateClass) => {
    const options = {
      keyPrefix: `${config.REDIS_PREFIX}:rate:${name}`,
      points: config[RATE_LIMIT_SETTINGS[name]],
      duration: WINDOW_SECONDS,
    };
    // Without Redis each process counts on its own: somewhat too generous, but never unlimited and never down.
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
  };
  state().connection = redis;
  await waitUntilReady(redis, 2_000);
}

/**
 * Counts a request against its limit, and tells how much is left in the `RateLimit` headers.
 * @throws ServiceError rate_limited, with `Retry-After` in seconds.
 */
export async function consumeRateLimit(ctx: Context, rateClass: RateClass, points = 1): Promise<void> {
  const { limiters } = state();
  if (rateClass === 'unlimited' || limiters === undefined || points < 1) return;
  const subject = isCountedByAddress(rateClass) ? networkPrefix(ctx.ip) : String(ctx.state.caller?.accountId);
  try {
    setRateLimitHeaders(ctx, rateClass, await limiters[rateClass].consume(subject, points));
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    setRateLimitHeaders(ctx, rateClass, rejection);
    const seconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
    throw new ServiceError('rate_limited', `Too many requests: wait ${seconds} s, then go on more slowly.`, {
      headers: { 'retry-after': String(seconds) },
    });
  }
}

/**
 * Refuses an address that is over its limit, and counts nothing otherwise. For work that comes before the count, such as
 * the query that identifies the caller.
 * @throws ServiceError rate_limited, with `Retry-After` in seconds.
 */
export async function requireAddressWithinRateLimit(ctx: Context): Promise<void> {
  const counted = await state().limiters?.public.get(networkPrefix(ctx.ip));
  if (counted != null && counted.consumedPoints >= config[RATE_LIMIT_SETTINGS.public])
    await consumeRateLimit(ctx, 'public');
}

/** Whether a class counts the requests of an address, whoever sends them. */
export function isCountedByAddress(rateClass: RateClass): boolean {
  return rateClass === 'public' || rateClass === 'oauth';
}

function setRateLimitHeaders(
  ctx: Context,
  name: LimitedRateClass,
  { remainingPoints, msBeforeNext }: RateLimiterRes,
): void {
  ctx.set('ratelimit-policy', `"${name}";q=${config[RATE_LIMIT_SETTINGS[name]]};w=${WINDOW_SECONDS}`);
  ctx.set('ratelimit', `"${name}";r=${Math.max(0, remainingPoints)};t=${Math.ceil(msBeforeNext / 1_000)}`);
}

/** Takes back what was counted against an account for a request that turned out not to be its own. */
export async function refundRateLimit(ctx: Context, rateClass: RateClass): Promise<void> {
  const { limiters } = state();
  if (rateClass === 'unlimited' || limiters === undefined) return;
  await limiters[rateClass].reward(String(ctx.state.caller?.accountId));
}

export function closeRateLimiters(): void {
  state().connection?.disconnect();
  state().limiters = undefined;
}
