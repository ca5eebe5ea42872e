import type { ProviderName } from '../../../shared/gateways/identity/index.ts';
import { randomHex } from '../../../shared/lib/secrets.ts';
import { SIGN_IN_ATTEMPT_MS } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import { isHttps, setCookie } from './setCookie.ts';

/**
 * Reads the secret that binds a sign-in to the browser that started it. All sign-ins of a browser with one provider
 * share it, so that two tabs do not invalidate each other.
 */
export function readSignInState(ctx: Context, provider: ProviderName): string | undefined {
  const secret = ctx.cookies.get(signInStateCookieName(provider));
  return secret !== undefined && /^[0-9a-f]{64}$/.test(secret) ? secret : undefined;
}

/** Reads the secret, or creates it, and renews the cookie. */
export function ensureSignInState(ctx: Context, provider: ProviderName): string {
  const secret = readSignInState(ctx, provider) ?? randomHex(32);
  // Apple responds with a form from its own site, which SameSite=Lax cookies are not sent with.
  const sameSite = provider === 'apple' && isHttps() ? 'none' : 'lax';
  setCookie(ctx, signInStateCookieName(provider), secret, { sameSite, maxAge: SIGN_IN_ATTEMPT_MS });
  return secret;
}

/** Name of the cookie. The prefix prevents other hosts of the same domain from setting it. */
function signInStateCookieName(provider: ProviderName): string {
  return `${isHttps() ? '__Host-' : ''}sign-in-${provider}`;
}
