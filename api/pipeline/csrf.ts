import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { serviceOrigin } from './serviceOrigin.ts';

/** The hidden field that a form of ours carries its token in. */
export const CSRF_FIELD = 'csrf_token';

/**
 * What shows that a form was on a page that we made for this very session. Nobody can make it without the session's
 * cookie, which is its key. Empty for who is not signed in: there is nothing yet that another site could misuse.
 */
export function createCsrfToken(ctx: Context): string {
  const { sessionToken } = ctx.state;
  return sessionToken === undefined ? '' : createHmac('sha256', sessionToken).update('form').digest('base64url');
}

/** Whether a form was sent from a page at another address: also one of ours, opened by another name of this machine. */
export function isCrossOriginForm(ctx: Context): boolean {
  const origin = ctx.get('origin');
  return origin !== serviceOrigin() && URL.canParse(origin);
}

const LOCAL_HOSTNAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether a page was opened by another name of this machine than the one that browsers are to use, as
 * http://127.0.0.1:3000 for http://localhost:3000: no form could be taken from there.
 */
export function isOtherLocalHostname(ctx: Context): boolean {
  const address = `http://${ctx.req.headers.host ?? ''}`;
  const serviceUrl = new URL(serviceOrigin());
  if (!LOCAL_HOSTNAMES.has(serviceUrl.hostname) || !URL.canParse(address)) return false;
  const { hostname, port } = new URL(address);
  return LOCAL_HOSTNAMES.has(hostname) && hostname !== serviceUrl.hostname && port === serviceUrl.port;
}

/**
 * Lets only forms of our own pages through: sent from our origin and, for who is signed in, with the session's token.
 * The router asks this of every form that a page route is sent.
 * @throws ServiceError validation_error, with status 403.
 */
export function requireCsrfToken(ctx: Context, body: URLSearchParams): void {
  const expected = Buffer.from(createCsrfToken(ctx));
  const sent = Buffer.from(body.get(CSRF_FIELD) ?? '');
  const isTokenValid =
    ctx.state.sessionToken === undefined || (sent.length === expected.length && timingSafeEqual(sent, expected));
  if (ctx.get('origin') === serviceOrigin() && isTokenValid) return;
  throw new ServiceError(
    'validation_error',
    'This form was not sent from the page that it belongs to, or that page is out of date. Go back, load it again, and send it once more.',
    { status: 403 },
  );
}
