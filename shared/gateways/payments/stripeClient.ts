import Stripe from 'stripe';

const TIMEOUT_MS = 4_000;
/** Stripe's library retries requests that may be repeated, under the same idempotency key. */
const MAX_NETWORK_RETRIES = 1;

/** Creates a client of Stripe's library, for Stripe's own address or another one. */
export function createStripeClient(secretKey: string, apiBase?: string): Stripe {
  const base = apiBase === undefined ? undefined : new URL(apiBase);
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: MAX_NETWORK_RETRIES,
    telemetry: false,
    ...(base && {
      host: base.hostname,
      port: base.port || (base.protocol === 'https:' ? 443 : 80),
      protocol: base.protocol === 'https:' ? ('https' as const) : ('http' as const),
    }),
  });
}
