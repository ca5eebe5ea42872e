import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from '../context.ts';
import { HttpError } from './httpError.ts';
import { serviceOrigin } from './serviceOrigin.ts';
import { canParseUrl } from '../../shared/lib/canParseUrl.ts';

/** Hidden form field that carries the CSRF token. */
export const CSRF_FIELD = 'csrf_token';

/**
 * Creates the CSRF token of a session and the account that it acts on: an HMAC under the session cookie, which other
 * sites cannot compute. A page that was opened before the person switched to another account has no effect there. Empty
 * without a session, as there is nothing yet that another site could misuse.
 */
export function createCsrfToken(ctx: Context): string {
  const { sessionToken, caller } = ctx.state;
  if (sessionToken === undefined) return '';
  return createHmac('sha256', sessionToken).update(`form ${caller?.accountId}`).digest('base64url');
}

/** Returns true for a form from another origin. That may be this service, opened under another name of the machine. */
export function isCrossOriginForm(ctx: Context): boolean {
  const origin = ctx.get('origin');
  return origin !== serviceOrigin() && canParseUrl(origin);
}

const SAFE_METHODS = new Set(['GET', 'HEAD']);

/** Returns true for methods that change nothing. */
export function isSafeMethod(method: string): boolean {
  return SAFE_METHODS.has(method);
}

/**
 * Returns false for a change from another origin: browsers send the session cookie with requests of other sites, too.
 */
export function isSafeOrSameOrigin(ctx: Pick<Context, 'method' | 'get'>): boolean {
  return isSafeMethod(ctx.method) || ctx.get('origin') === serviceOrigin();
}

const LOCAL_HOSTNAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Returns true if a page was opened under another name of this machine than BASE_URL has, such as
 * http://127.0.0.1:3000 for http://localhost:3000. Forms from there would be rejected.
 */
export function isOtherLocalHostname(ctx: Context): boolean {
  const address = `http://${ctx.req.headers.host ?? ''}`;
  const serviceUrl = new URL(serviceOrigin());
  if (!LOCAL_HOSTNAMES.has(serviceUrl.hostname) || !canParseUrl(address)) return false;
  const { hostname, port } = new URL(address);
  return LOCAL_HOSTNAMES.has(hostname) && hostname !== serviceUrl.hostname && port === serviceUrl.port;
}

/**
 * Requires that a form was sent from the service's own origin and, with a session, carries the session's token.
 * @throws HttpError validation_error, 403.
 */
export function requireCsrfToken(ctx: Context, body: URLSearchParams): void {
  const expected = Buffer.from(createCsrfToken(ctx));
  const sent = Buffer.from(body.get(CSRF_FIELD) ?? '');
  const isTokenValid =
    ctx.state.sessionToken === undefined || (sent.length === expected.length && timingSafeEqual(sent, expected));
  if (ctx.get('origin') === serviceOrigin() && isTokenValid) return;
  throw new HttpError(
    'validation_error',
    'This form was not sent from the page that it belongs to, or that page is out of date. Go back, reload it, and send it again.',
    { status: 403 },
  );
}
