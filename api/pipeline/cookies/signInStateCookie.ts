import type { ProviderName } from '../../../shared/gateways/identity/index.ts';
import { randomHex } from '../../../shared/lib/secrets.ts';
import { SIGN_IN_ATTEMPT_MS } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import { isHttps } from './sessionCookie.ts';

/**
 * What a sign-in knows the browser by that began it. One for each provider, and the same for all that are under way in
 * a browser, so that two tabs do not undo each other.
 */
export function readSignInState(ctx: Context, provider: ProviderName): string | undefined {
  const secret = ctx.cookies.get(signInStateCookieName(provider));
  return secret !== undefined && /^[0-9a-f]{64}$/.test(secret) ? secret : undefined;
}

/** The same; a browser that has none is given one. */
export function ensureSignInState(ctx: Context, provider: ProviderName): string {
  const secret = readSignInState(ctx, provider) ?? randomHex(32);
  ctx.cookies.secure = isHttps();
  ctx.cookies.set(signInStateCookieName(provider), secret, {
    httpOnly: true,
    // Apple's answer is a form from its own site, with which no other cookie travels.
    sameSite: provider === 'apple' && isHttps() ? 'none' : 'lax',
    secure: isHttps(),
    path: '/',
    overwrite: true,
    maxAge: SIGN_IN_ATTEMPT_MS,
  });
  return secret;
}

/** The prefix keeps other hosts of the same domain from setting it. */
function signInStateCookieName(provider: ProviderName): string {
  return `${isHttps() ? '__Host-' : ''}sign-in-${provider}`;
}
