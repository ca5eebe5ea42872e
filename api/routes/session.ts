import { accountById, accountOfEmail, completeOnboardingStep, updateProfile } from '../../shared/domain/accounts.ts';
import { LOCAL } from '../../shared/domain/identities.ts';
import { isStaff, isStaffEmail } from '../../shared/domain/staff.ts';
import { PROVIDER_NAMES, providers } from '../../shared/gateways/identity/index.ts';
import { bodyParser } from '../../shared/lib/validate.ts';
import type { Account } from '../../shared/tables/Account.ts';
import { callerOf, type Context } from '../context.ts';
import { recognise } from '../middleware/authenticate.ts';
import { bodyOf } from '../middleware/body.ts';
import { followedLink } from '../middleware/referralCookie.ts';
import { endOwnSession, startSession } from '../middleware/sessionCookie.ts';
import { presentUser } from '../presenters.ts';
import { AdvanceOnboarding, DevSignIn, Profile } from '../schemas.ts';

const parseSignIn = bodyParser(DevSignIn);
const parseProfile = bodyParser(Profile);
const parseAdvance = bodyParser(AdvanceOnboarding);

/** Which sign-in providers are configured. */
export function socialConfig(ctx: Context): void {
  ctx.body = Object.fromEntries(PROVIDER_NAMES.map((name) => [name, providers()[name] !== null]));
}

/** Local sign-in: takes any address at its word, which is why the router offers it on local machines only. */
export async function devSignIn(ctx: Context): Promise<void> {
  const { email } = parseSignIn(bodyOf(ctx));
  // Nobody is asked for a session here, but one that the browser has tells whose link is their own.
  await recognise(ctx);
  const link = followedLink(ctx, ctx.state.caller?.accountId ?? null);
  const account = await accountOfEmail(email, LOCAL, { link });
  await startSession(ctx, account.id);
  ctx.body = presentUser(account, isStaffEmail(account.email));
}

export async function me(ctx: Context): Promise<void> {
  await answerUser(ctx, await accountById(callerOf(ctx).accountId));
}

export async function updateMe(ctx: Context): Promise<void> {
  const profile = parseProfile(bodyOf(ctx));
  await answerUser(ctx, await updateProfile(callerOf(ctx).accountId, profile));
}

export async function logout(ctx: Context): Promise<void> {
  await endOwnSession(ctx);
  ctx.status = 204;
}

export async function advanceOnboarding(ctx: Context): Promise<void> {
  const { step_completed: step, data } = parseAdvance(bodyOf(ctx));
  await answerUser(ctx, await completeOnboardingStep(callerOf(ctx).accountId, step, data));
}

async function answerUser(ctx: Context, account: Account): Promise<void> {
  ctx.body = presentUser(account, await isStaff(account, callerOf(ctx), ctx.state.sessionToken));
}
