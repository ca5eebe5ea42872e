import type { VNode } from 'preact';
import { isSignInRecent, RECENT_SIGN_IN_MINUTES } from '../../../shared/domain/accounts/sessions.ts';
import type { Context } from '../../context.ts';

/** Returns whether the caller has signed in within the last minutes, as sensitive pages require. */
export function hasRecentSignIn(ctx: Context): Promise<boolean> {
  return isSignInRecent(ctx.state.sessionToken as string);
}

/** Asks the caller to sign in again, and returns to the page. */
export function SignInAgain({ returnTo }: { returnTo: string }): VNode {
  const query = new URLSearchParams({ again: 'yes', return_to: returnTo });
  return (
    <>
      <p>This requires that you have signed in within the last {RECENT_SIGN_IN_MINUTES} minutes.</p>
      <p>
        <a class="button main" href={`/sign-in?${query.toString()}`}>
          Sign in again
        </a>
      </p>
    </>
  );
}
