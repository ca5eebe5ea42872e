import { endWebSession, createWebSession, SESSION_LIFETIME_MS } from '../../../shared/domain/signIn/sessions.ts';
import { config } from '../../../shared/lib/config.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { Context } from '../../context.ts';
import { getRequestOrigin } from '../requestOrigin.ts';

/** Name of the session cookie (spec: Authentication). */
export const SESSION_COOKIE = 'token';

/** Returns true if BASE_URL is https. The connection itself is plain behind a proxy that terminates TLS. */
export const isHttps = () => config.BASE_URL.startsWith('https:');

/**
 * Signs the browser in with a new token, which prevents session fixation. Ends the previous session of the browser,
 * which no client could use any more, and no other one.
 * @returns the account that the session acts on.
 */
export async function startWebSession(
  ctx: Context,
  personId: number,
  identityUuid: string | null = null,
): Promise<Account> {
  const before = ctx.cookies.get(SESSION_COOKIE) || undefined;
  const origin = getRequestOrigin(ctx);
  const { token, account } = await createWebSession(personId, origin, identityUuid);
  setSessionCookie(ctx, token, SESSION_LIFETIME_MS);
  if (before !== undefined) await endWebSession(before, origin);
  return account;
}

/** Signs the browser out. */
export async function endCurrentSession(ctx: Context): Promise<void> {
  await endWebSession(ctx.state.sessionToken as string, getRequestOrigin(ctx));
  setSessionCookie(ctx, '', 0);
}

function setSessionCookie(ctx: Context, token: string, maxAge: number): void {
  ctx.cookies.secure = isHttps();
  ctx.cookies.set(SESSION_COOKIE, token, {
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    overwrite: true,
    secure: isHttps(),
    maxAge,
  });
}
