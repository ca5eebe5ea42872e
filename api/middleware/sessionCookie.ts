import { closeSession, openSession, SESSION_MS } from '../../shared/domain/sessions.ts';
import { config } from '../../shared/lib/config.ts';
import type { Context } from '../context.ts';
import { SESSION_COOKIE } from './authenticate.ts';
import { audit } from './audit.ts';

/** Whether the service is reached over https; behind a proxy that ends TLS the connection itself looks plain. */
export const isSecure = () => config.BASE_URL.startsWith('https:');

/**
 * Signs the browser in, under a token that it cannot have had before: nobody can have prepared it. The session that its
 * cookie stood for until now ends, as it could not be reached again; no other one does.
 */
export async function startSession(ctx: Context, accountId: number, identityUuid: string | null = null): Promise<void> {
  const before = ctx.cookies.get(SESSION_COOKIE) || undefined;
  setCookie(ctx, await openSession(accountId, ctx.get('user-agent'), identityUuid), SESSION_MS);
  if (before !== undefined) await closeSession(before);
  await audit(ctx, 'signed_in', accountId, identityUuid === null ? {} : { identity: identityUuid });
}

/** Signs the browser out. */
export async function endOwnSession(ctx: Context): Promise<void> {
  await closeSession(ctx.state.sessionToken as string);
  await audit(ctx, 'signed_out', ctx.state.caller?.accountId ?? null);
  setCookie(ctx, '', 0);
}

function setCookie(ctx: Context, token: string, maxAge: number): void {
  ctx.cookies.secure = isSecure();
  ctx.cookies.set(SESSION_COOKIE, token, {
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    overwrite: true,
    secure: isSecure(),
    maxAge,
  });
}
