import type { SignInProblem } from '../../../../../shared/domain/signIn/signIn.ts';
import { config } from '../../../../../shared/lib/config.ts';
import type { Context } from '../../../../context.ts';
import { serviceOrigin } from '../../../../pipeline/serviceOrigin.ts';
import type { SignInPageProblem } from './view.tsx';
import { canParseUrl } from '../../../../../shared/lib/canParseUrl.ts';

export const ACCOUNT_PATH = '/account/';

const RETURN_TO_MAX_CHARACTERS = 4_000;

/**
 * Returns the path to open after a sign-in. Anything that is not a path of this service becomes the account page.
 * Browsers drop tabs and line breaks from addresses, read `\` as `/`, and `//` as the beginning of another host.
 */
export function sanitizeReturnTo(returnTo: unknown): string {
  if (typeof returnTo !== 'string' || returnTo.length > RETURN_TO_MAX_CHARACTERS) return ACCOUNT_PATH;
  if (!returnTo.startsWith('/') || /[\u0000-\u0020\u007f\\]/.test(returnTo)) return ACCOUNT_PATH;
  if (!canParseUrl(returnTo, config.BASE_URL)) return ACCOUNT_PATH;
  const address = new URL(returnTo, config.BASE_URL);
  // An outcome belongs to the redirect after its action: see outcomeCookie.ts.
  if (address.searchParams.has('done')) address.searchParams.delete('done');
  const { origin, pathname, search } = address;
  // Parsing turns `/.//host` and `/x/..//host` into `//host`.
  return origin === serviceOrigin() && !pathname.startsWith('//') ? pathname + search : ACCOUNT_PATH;
}

/**
 * Returns the path of the page that a form was on, from the `Referer` header. Where the browser sends none, it is the
 * address of the form: opened with GET, each one shows its page or redirects to it. A form whose address has a query is
 * on the page of this address.
 */
export function getFormPagePath(ctx: Context): string {
  if (ctx.search !== '') return sanitizeReturnTo(ctx.url);
  const referrer = ctx.get('referer');
  const page = canParseUrl(referrer) ? new URL(referrer) : undefined;
  // Without the query, which may contain the outcome of an earlier action.
  return sanitizeReturnTo(page?.origin === serviceOrigin() ? page.pathname : ctx.path);
}

/**
 * Builds the path of the sign-in page.
 * @param returnTo path to open after the sign-in.
 * @param other provider that was tried, and the providers that are linked to the account.
 */
export function buildSignInPath(
  returnTo: string | null,
  problem?: SignInPageProblem | SignInProblem,
  other?: { provider: string; linked: readonly string[] },
): string {
  const query = new URLSearchParams();
  if (problem !== undefined) query.set('problem', problem);
  if (other !== undefined) query.set('provider', other.provider);
  for (const name of other?.linked ?? []) query.append('linked', name);
  if (returnTo !== null && returnTo !== ACCOUNT_PATH) query.set('return_to', returnTo);
  return query.size === 0 ? '/sign-in' : `/sign-in?${query.toString()}`;
}

/** Builds the path of the sign-in page for a person who has a session. */
export function buildSignInAgainPath(returnTo: string): string {
  return `/sign-in?${new URLSearchParams({ again: 'yes', return_to: returnTo }).toString()}`;
}
