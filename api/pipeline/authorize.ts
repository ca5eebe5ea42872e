import { isDeletionRequested } from '../../shared/domain/accounts/deletion.ts';
import { requireAllowedAddress } from '../../shared/domain/accounts/restrictions.ts';
import { isSignInRecent, signInNotRecentError } from '../../shared/domain/accounts/recentSignIn.ts';
import { requireStaff } from '../../shared/domain/accounts/staff.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { type Context, requireCaller } from '../context.ts';
import { sendWrongAddressPage } from '../web/components/errorPage.tsx';
import { requireRestAccess } from './authenticateToken.ts';
import { isCrossOriginForm, isSafeMethod, requireCsrfToken } from './csrf.ts';
import { DELETION_PATH, PATHS_DURING_DELETION } from '../web/accountDeletion/paths.ts';
import { redirectToSignInPage, redirectToSignInAgain, seeOther } from './redirect.ts';
import type { Authentication, Route } from './route.ts';
import { serviceOrigin } from './serviceOrigin.ts';
import { requireTestAccess } from './testAccess.ts';

const REQUIRED_SESSION: ReadonlySet<Authentication> = new Set(['pageSession', 'staffSession', 'staffCall']);
const STAFF_ONLY: ReadonlySet<Authentication> = new Set(['staff', 'staffSession', 'staffCall']);

/**
 * Checks that the caller may use the route with this credential, and that a form comes from one of the service's own
 * pages. While the account is being deleted, its owner gets the page that can undo it instead of all others. A session
 * whose sign-in is too long ago for the request leads to the sign-in page.
 * @returns false if the response is a redirect or an error page already.
 */
export async function authorize(
  ctx: Context,
  { authentication, body, path, access, permission, recentSignIn }: Route,
): Promise<boolean> {
  const { caller } = ctx.state;
  if (caller?.restrictions !== undefined && access !== undefined) {
    requireAllowedAddress(caller, ctx.ip);
    requireRestAccess(caller, access);
  }
  requireTestAccess(caller, ctx.method, path);
  if (body === 'form' && authentication !== 'oauthCallback') {
    if (isCrossOriginForm(ctx)) {
      sendWrongAddressPage(ctx, serviceOrigin());
      return false;
    }
    requireCsrfToken(ctx, ctx.state.form as URLSearchParams);
  }
  if (REQUIRED_SESSION.has(authentication) && caller === undefined) {
    const isNavigation = body === 'form' || isSafeMethod(ctx.method);
    if (authentication === 'staffCall' || !isNavigation) throw new ServiceError('invalid_api_key', 'Sign in first.');
    redirectToSignInPage(ctx);
    return false;
  }
  const isClosedByDeletion = REQUIRED_SESSION.has(authentication) && !PATHS_DURING_DELETION.has(path);
  if (isClosedByDeletion && (await isDeletionRequested(requireCaller(ctx).accountId))) {
    if (authentication === 'staffCall') {
      const detail = 'Your account is being deleted. Undo the deletion on the account page first.';
      throw new ServiceError('admin_required', detail);
    }
    seeOther(ctx, DELETION_PATH);
    return false;
  }
  const mustBeRecent = recentSignIn === 'recentSignIn' || recentSignIn?.(ctx) === true;
  if (mustBeRecent && !(await isSignInRecent(requireCaller(ctx)))) {
    if (ctx.state.isPage !== true) throw signInNotRecentError();
    redirectToSignInAgain(ctx);
    return false;
  }
  if (STAFF_ONLY.has(authentication)) {
    if (permission === undefined) throw new Error(`${ctx.state.route} is a staff route without a permission.`);
    ctx.state.staffRole = await requireStaff(requireCaller(ctx), ctx.state.sessionToken, permission);
  }
  return true;
}
