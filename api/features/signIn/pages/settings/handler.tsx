import { saveProfile as saveOwnProfile } from '../../../../../shared/domain/signIn/onboarding.ts';
import {
  findOwnSession,
  revokeOtherWebSessions,
  revokeWebSession,
} from '../../../../../shared/domain/signIn/sessions.ts';
import { createBodyParser } from '../../../../../shared/lib/validation/bodyParser.ts';
import { requireCaller, requirePerson } from '../../../../context.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../../../pipeline/requestParameters.ts';
import { ProfileRequest } from '../../schemas.ts';
import { defineAccountAction } from '../../../../web/components/accountAction.tsx';
import { formatRelativeTime } from '../../../../web/components/formatTime.ts';
import { t as shared } from '../../../../web/texts.ts';
import { describeBrowser } from '../../../../web/components/describeBrowser.ts';
import { buildOutcomePath, SETTINGS_PATH } from './outcomes.ts';
import { profileForm } from './profile.tsx';
import { SESSIONS } from './texts.ts';
import { withSettingsErrors } from './view.tsx';

const parseProfileForm = createBodyParser(ProfileRequest);

export const saveProfile = withSettingsErrors(async (ctx) => {
  const profile = parseProfileForm(profileForm.read(getForm(ctx)));
  await saveOwnProfile(requireCaller(ctx), profile);
  seeOther(ctx, buildOutcomePath('profile'));
});

export const endSession = defineAccountAction({
  withErrors: withSettingsErrors,
  describe: async (ctx) => {
    const session = await findOwnSession(requirePerson(ctx).id, parseUuidParam(ctx));
    return {
      question: SESSIONS.signOutQuestion({ browser: describeBrowser(session.userAgent) }),
      consequences: <p>{SESSIONS.signOutEffect({ lastUsed: formatRelativeTime(session.lastUsedAt) })}</p>,
      button: shared.signOut(),
      returnPath: SETTINGS_PATH,
    };
  },
  perform: async (ctx, caller) => {
    await revokeWebSession(caller, parseUuidParam(ctx), getRequestOrigin(ctx));
    return buildOutcomePath('session-ended');
  },
});

export const endOtherSessions = defineAccountAction({
  withErrors: withSettingsErrors,
  describe: () => ({
    question: SESSIONS.signOutOthersQuestion(),
    consequences: <p>{SESSIONS.signOutOthersEffect()}</p>,
    button: shared.signOut(),
    returnPath: SETTINGS_PATH,
  }),
  perform: async (ctx, caller) => {
    await revokeOtherWebSessions(caller, ctx.state.sessionToken as string, getRequestOrigin(ctx));
    return buildOutcomePath('others-ended');
  },
});
