import { config } from '../../../shared/lib/config.ts';
import type { Context } from '../../context.ts';

/** Returns true if BASE_URL is https. The connection itself is plain behind a proxy that terminates TLS. */
export const isHttps = () => config.BASE_URL.startsWith('https:');

interface CookieOptions {
  /** Lifetime in milliseconds; 0 deletes the cookie. */
  maxAge: number;
  path?: string;
  sameSite?: 'lax' | 'none';
}

/** Sets a cookie that scripts cannot read, in place of one with the same name. */
export function setCookie(
  ctx: Context,
  name: string,
  value: string,
  { maxAge, path = '/', sameSite = 'lax' }: CookieOptions,
): void {
  const secure = isHttps();
  ctx.cookies.secure = secure;
  ctx.cookies.set(name, value, { httpOnly: true, sameSite, path, overwrite: true, secure, maxAge });
}
