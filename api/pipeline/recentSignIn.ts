import { isSignInRecent } from '../../shared/domain/signIn/recentSignIn.ts';
import type { Context } from '../context.ts';
import type { Route } from './route.ts';

/**
 * Returns whether the route requires a recent sign-in for this request, and the session of the caller has none. A
 * visitor has no session.
 */
export async function mustSignInAgain(ctx: Context, { recentSignIn }: Route): Promise<boolean> {
  const isRequired = recentSignIn === true || recentSignIn?.(ctx) === true;
  const { caller } = ctx.state;
  return isRequired && caller !== undefined && !(await isSignInRecent(caller));
}
