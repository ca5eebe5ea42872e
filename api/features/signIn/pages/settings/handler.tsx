import { saveProfile as saveAccountProfile } from '../../../../../shared/domain/signIn/onboarding.ts';
import {
  findOwnSession,
  revokeOtherWebSessions,
  revokeWebSession,
} from '../../../../../shared/domain/signIn/sessions.ts';
import { createBodyParser } from '../../../../../shared/lib/validation/bodyParser.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../../../pipeline/requestParameters.ts';
import { ProfileRequest } from '../../schemas.ts';
import { sendConfirmationPage } from '../../../../web/components/confirmationPage.tsx';
import { formatRelativeTime } from '../../../../web/components/formatTime.ts';
import { describeBrowser } from '../../../../../shared/lib/browserName.ts';
import { redirectWithOutcome, SETTINGS_PATH } from './outcomes.ts';
import { renderSettingsPage, withSettingsErrors } from './view.tsx';

const parseProfileForm = createBodyParser(ProfileRequest);

export async function showSettingsPage(ctx: Context): Promise<void> {
  await renderSettingsPage(ctx);
}

/** Handles a GET for the address of a form, as when the browser goes back to its response. */
export function redirectToSettingsPage(ctx: Context): void {
  seeOther(ctx, SETTINGS_PATH);
}

export const saveProfile = withSettingsErrors(async (ctx) => {
  const form = getForm(ctx);
  const fields = ['first_name', 'use_case', 'language'].filter((name) => form.has(name));
  const profile = parseProfileForm(Object.fromEntries(fields.map((name) => [name, form.get(name)])));
  await saveAccountProfile(requireCaller(ctx).accountId, profile);
  redirectWithOutcome(ctx, 'profile');
});

/** Asks for confirmation before one session is ended. */
export const confirmEndSession = withSettingsErrors(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const session = await findOwnSession(requireCaller(ctx).accountId, uuid);
  sendConfirmationPage(ctx, {
    question: `Sign out ${describeBrowser(session.userAgent)}?`,
    children: <p>Last used {formatRelativeTime(session.lastUsedAt)}. That browser is signed out immediately.</p>,
    button: 'Sign out',
    action: `/account/sessions/${uuid}/end/`,
    cancelPath: SETTINGS_PATH,
  });
});

export const endOneSession = withSettingsErrors(async (ctx) => {
  await revokeWebSession(requireCaller(ctx).accountId, parseUuidParam(ctx), getRequestOrigin(ctx));
  redirectWithOutcome(ctx, 'session-ended');
});

/** Asks for confirmation before all other sessions are ended. */
export function confirmEndOtherSessions(ctx: Context): void {
  sendConfirmationPage(ctx, {
    question: 'Sign out of all other sessions?',
    children: <p>Your other browsers are signed out immediately. API keys and connected applications keep working.</p>,
    button: 'Sign out',
    action: '/account/sessions/end-others/',
    cancelPath: SETTINGS_PATH,
  });
}

export const endAllOtherSessions = withSettingsErrors(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  await revokeOtherWebSessions(accountId, ctx.state.sessionToken as string, getRequestOrigin(ctx));
  redirectWithOutcome(ctx, 'others-ended');
});
