import { getAccount, updateProfile } from '../../../shared/domain/accounts/accounts.ts';
import { findOrCreateAccountByEmail } from '../../../shared/domain/signIn/findOrCreateAccount.ts';
import { DEV_PROVIDER } from '../../../shared/domain/signIn/identities.ts';
import { completeOnboardingStep } from '../../../shared/domain/signIn/onboarding.ts';
import { isStaff, isStaffEmail } from '../../../shared/domain/accounts/staffRights.ts';
import { PROVIDER_NAMES, getIdentityProviders } from '../../../shared/gateways/identity/index.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import { requireCaller, type Context } from '../../context.ts';
import { authenticateOptional } from '../../pipeline/authenticate.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { readReferralCookie } from '../../pipeline/cookies/referralCookie.ts';
import { endCurrentSession, startWebSession } from '../../pipeline/cookies/sessionCookie.ts';
import { presentUser } from './presenter.ts';
import { AdvanceOnboardingRequest, DevSignInRequest, ProfileRequest } from './schemas.ts';

const parseDevSignIn = createBodyParser(DevSignInRequest);
const parseProfile = createBodyParser(ProfileRequest);
const parseAdvanceOnboarding = createBodyParser(AdvanceOnboardingRequest);

/** Lists the sign-in providers, and which of them are configured. */
export function socialConfig(ctx: Context): void {
  ctx.body = Object.fromEntries(PROVIDER_NAMES.map((name) => [name, getIdentityProviders()[name] !== null]));
}

/** Signs in by e-mail address alone. The router offers it in local development only. */
export async function signInWithoutProvider(ctx: Context): Promise<void> {
  const { email } = parseDevSignIn(getJsonBody(ctx));
  // A session is optional here: it identifies the account whose own referral link does not count.
  await authenticateOptional(ctx);
  const referralClick = readReferralCookie(ctx, ctx.state.caller?.accountId ?? null);
  const account = await findOrCreateAccountByEmail(email, DEV_PROVIDER, { referralClick });
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
  ctx.body = presentUser(account, await isStaff(account, requireCaller(ctx)));
}
