import { endWebSession, createWebSession, SESSION_LIFETIME_MS } from '../../../shared/domain/signIn/sessions.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { Context } from '../../context.ts';
import { getRequestOrigin } from '../requestOrigin.ts';
import { setCookie } from './setCookie.ts';

/** Name of the session cookie (spec: Authentication). */
export const SESSION_COOKIE = 'token';

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
  setCookie(ctx, SESSION_COOKIE, token, { maxAge: SESSION_LIFETIME_MS });
  if (before !== undefined) await endWebSession(before, origin);
  return account;
}

/** Signs the browser out. */
export async function endCurrentSession(ctx: Context): Promise<void> {
  await endWebSession(ctx.state.sessionToken as string, getRequestOrigin(ctx));
  setCookie(ctx, SESSION_COOKIE, '', { maxAge: 0 });
}
