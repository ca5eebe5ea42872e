import type { SignInProblem } from '../../../shared/domain/accounts/signIn.ts';
import { config } from '../../../shared/lib/config.ts';
import type { Context } from '../../context.ts';
import { serviceOrigin } from '../../pipeline/serviceOrigin.ts';
import type { SignInPageProblem } from './view.tsx';

export const ACCOUNT_PATH = '/account/';

const RETURN_TO_MAX_CHARACTERS = 4_000;

/**
 * Where to go after a sign-in: a path of ours, or the account's page in the place of anything else. Browsers drop tabs
 * and line breaks from addresses, read `\` as `/`, and `//` as the beginning of another host.
 */
export function sanitizeReturnTo(returnTo: unknown): string {
  if (typeof returnTo !== 'string' || returnTo.length > RETURN_TO_MAX_CHARACTERS) return ACCOUNT_PATH;
  if (!returnTo.startsWith('/') || /[\u0000-\u0020\u007f\\]/.test(returnTo)) return ACCOUNT_PATH;
  if (!URL.canParse(returnTo, config.BASE_URL)) return ACCOUNT_PATH;
  const { origin, pathname, search } = new URL(returnTo, config.BASE_URL);
  // What was `/.//host` or `/x/..//host` is `//host` only now.
  return origin === serviceOrigin() && !pathname.startsWith('//') ? pathname + search : ACCOUNT_PATH;
}

/** The page of ours that a form was on, by the browser's word; the account's page where it does not say. */
export function getRefererPath(ctx: Context): string {
  const referrer = ctx.get('referer');
  if (!URL.canParse(referrer)) return ACCOUNT_PATH;
  const { origin, pathname } = new URL(referrer);
  // Without the query: it says what was done before, which is not to be said again.
  return origin === serviceOrigin() ? sanitizeReturnTo(pathname) : ACCOUNT_PATH;
}

/**
 * The address of the sign-in page, for somebody who wants to get to a path.
 * @param other the provider that was tried, and those that the account signs in through instead.
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
