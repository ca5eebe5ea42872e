import {
  getAccount,
  findOrCreateAccountByEmail,
  completeOnboardingStep,
  updateProfile,
} from '../../../shared/domain/accounts/accounts.ts';
import { DEV_PROVIDER } from '../../../shared/domain/accounts/identities.ts';
import { isStaff, isStaffEmail } from '../../../shared/domain/accounts/staff.ts';
import { PROVIDER_NAMES, getIdentityProviders } from '../../../shared/gateways/identity/index.ts';
import { createBodyParser } from '../../../shared/lib/validate.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import { requireCaller, type Context } from '../../context.ts';
import { authenticateOptional } from '../../pipeline/authenticate.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { readReferralCookie } from '../../pipeline/cookies/referralCookie.ts';
import { endCurrentSession, startWebSession } from '../../pipeline/cookies/sessionCookie.ts';
import { presentUser } from '../presenters.ts';
import { AdvanceOnboardingRequest, DevSignInRequest, ProfileRequest } from '../requestSchemas.ts';

const parseDevSignIn = createBodyParser(DevSignInRequest);
const parseProfile = createBodyParser(ProfileRequest);
const parseAdvanceOnboarding = createBodyParser(AdvanceOnboardingRequest);

/** Which sign-in providers are configured. */
export function socialConfig(ctx: Context): void {
  ctx.body = Object.fromEntries(PROVIDER_NAMES.map((name) => [name, getIdentityProviders()[name] !== null]));
}

/** Local sign-in: takes any address at its word, which is why the router offers it on local machines only. */
export async function devSignIn(ctx: Context): Promise<void> {
  const { email } = parseDevSignIn(getJsonBody(ctx));
  // Nobody is asked for a session here, but one that the browser has tells whose link is their own.
  await authenticateOptional(ctx);
  const link = readReferralCookie(ctx, ctx.state.caller?.accountId ?? null);
  const account = await findOrCreateAccountByEmail(email, DEV_PROVIDER, { referralClick: link });
  await startWebSession(ctx, account.id);
  ctx.body = presentUser(account, isStaffEmail(account.email));
}

export async function me(ctx: Context): Promise<void> {
  await sendUser(ctx, await getAccount(requireCaller(ctx).accountId));
}

export async function updateMe(ctx: Context): Promise<void> {
  const profile = parseProfile(getJsonBody(ctx));
  await sendUser(ctx, await updateProfile(requireCaller(ctx).accountId, profile));
}

export async function logout(ctx: Context): Promise<void> {
  await endCurrentSession(ctx);
  ctx.status = 204;
}

export async function advanceOnboarding(ctx: Context): Promise<void> {
  const { step_completed: step, data } = parseAdvanceOnboarding(getJsonBody(ctx));
  await sendUser(ctx, await completeOnboardingStep(requireCaller(ctx).accountId, step, data));
}

async function sendUser(ctx: Context, account: Account): Promise<void> {
  ctx.body = presentUser(account, await isStaff(account, requireCaller(ctx), ctx.state.sessionToken));
}
