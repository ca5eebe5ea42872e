import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { ownOrigin } from '../middleware/ownOrigin.ts';

/** The hidden field that a form of ours carries its token in. */
export const FORM_TOKEN = 'form_token';

/**
 * What shows that a form was on a page that we made for this very session. Nobody can make it without the session's
 * cookie, which is its key. Empty for who is not signed in: there is nothing yet that another site could misuse.
 */
export function formToken(ctx: Context): string {
  const { sessionToken } = ctx.state;
  return sessionToken === undefined ? '' : createHmac('sha256', sessionToken).update('form').digest('base64url');
}

/** Whether a form was sent from a page at another address: also one of ours, opened by another name of this machine. */
export function isFromAnotherAddress(ctx: Context): boolean {
  const origin = ctx.get('origin');
  return origin !== ownOrigin() && URL.canParse(origin);
}

/**
 * Lets only forms of our own pages through: sent from our origin and, for who is signed in, with the session's token.
 * The router asks this of every form that a page route is sent.
 * @throws ServiceError validation_error, with status 403.
 */
export function requireOwnForm(ctx: Context, body: URLSearchParams): void {
  const expected = Buffer.from(formToken(ctx));
  const sent = Buffer.from(body.get(FORM_TOKEN) ?? '');
  const isOurs =
    ctx.state.sessionToken === undefined || (sent.length === expected.length && timingSafeEqual(sent, expected));
  if (ctx.get('origin') === ownOrigin() && isOurs) return;
  throw new ServiceError(
    'validation_error',
    'This form was not sent from the page that it belongs to, or that page is out of date. Go back, load it again, and send it once more.',
    { status: 403 },
  );
}
