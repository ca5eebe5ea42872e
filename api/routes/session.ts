import { accountById, accountOfEmail, completeOnboardingStep, updateProfile } from '../../shared/domain/accounts.ts';
import { closeSession, openSession, SESSION_MS } from '../../shared/domain/sessions.ts';
import { config } from '../../shared/lib/config.ts';
import { bodyParser } from '../../shared/lib/validate.ts';
import { callerOf, type Context } from '../context.ts';
import { SESSION_COOKIE } from '../middleware/authenticate.ts';
import { bodyOf } from '../middleware/body.ts';
import { presentUser } from '../presenters.ts';
import { AdvanceOnboarding, DevSignIn, Profile } from '../schemas.ts';

const parseSignIn = bodyParser(DevSignIn);
const parseProfile = bodyParser(Profile);
const parseAdvance = bodyParser(AdvanceOnboarding);

const COOKIE_OPTIONS = {
  httpOnly: true,
  sameSite: 'lax',
  path: '/',
  overwrite: true,
  secure: config.BASE_URL.startsWith('https:'),
} as const;

/** Which sign-in providers are configured. */
export function socialConfig(ctx: Context): void {
  ctx.body = { google: false, apple: false, github: false };
}

/** Local sign-in: takes any address at its word, which is why the router offers it outside production only. */
export async function devSignIn(ctx: Context): Promise<void> {
  const { email } = parseSignIn(bodyOf(ctx));
  const account = await accountOfEmail(email, 'dev');
  setCookie(ctx, await openSession(account.id), SESSION_MS);
  ctx.body = presentUser(account);
}

export async function me(ctx: Context): Promise<void> {
  ctx.body = presentUser(await accountById(callerOf(ctx).accountId));
}

export async function updateMe(ctx: Context): Promise<void> {
  const profile = parseProfile(bodyOf(ctx));
  ctx.body = presentUser(await updateProfile(callerOf(ctx).accountId, profile));
}

export async function logout(ctx: Context): Promise<void> {
  await closeSession(ctx.state.sessionToken as string);
  setCookie(ctx, '', 0);
  ctx.status = 204;
}

export async function advanceOnboarding(ctx: Context): Promise<void> {
  const { step_completed: step, data } = parseAdvance(bodyOf(ctx));
  ctx.body = presentUser(await completeOnboardingStep(callerOf(ctx).accountId, step, data));
}

function setCookie(ctx: Context, token: string, maxAge: number): void {
  // Behind a proxy that ends TLS the connection looks plain; the address that we are known by decides.
  ctx.cookies.secure = COOKIE_OPTIONS.secure;
  ctx.cookies.set(SESSION_COOKIE, token, { ...COOKIE_OPTIONS, maxAge });
}
