import { getAccount } from '../../../../../shared/domain/accounts/accounts.ts';
import { listIdentities } from '../../../../../shared/domain/signIn/identities.ts';
import { listActiveSessions } from '../../../../../shared/domain/signIn/sessions.ts';
import { requireCaller, requirePerson, type Context } from '../../../../context.ts';
import { consumeDraft } from '../../../../pipeline/cookies/draftCookie.ts';
import { mayDo, type PageProblem, sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { t as navigation } from '../../../texts.ts';
import { NotificationsSection } from '../../../notifications/pages/settings/view.tsx';
import { SETTINGS_OUTCOMES, SETTINGS_PATH } from './outcomes.ts';
import { PrivacySection } from './privacy.tsx';
import { ProfileSection } from './profile.tsx';
import { SessionsSection } from './sessions.tsx';
import { describeLinkProblem, SignInMethodsSection } from './signInMethods.tsx';

/** Renders profile, sign-in methods and sessions with their current data. */
export async function renderSettingsPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const caller = requireCaller(ctx);
  const person = requirePerson(ctx);
  const [account, identities, sessions] = await Promise.all([
    getAccount(caller.accountId),
    listIdentities(person.id),
    listActiveSessions({ person_id: person.id }, ctx.state.sessionToken as string),
  ]);
  const problem = flash.problem ?? describeLinkProblem(ctx.query['link_problem'], ctx.query['provider']);
  const children = (
    <>
      <ProfileSection person={person} accountUuid={account.uuid} draft={consumeDraft(ctx, account.uuid)} />
      <SignInMethodsSection identities={identities} />
      <SessionsSection sessions={sessions} />
      {mayDo(ctx, 'manageNotifications') ? <NotificationsSection /> : null}
      <PrivacySection ctx={ctx} />
    </>
  );
  await sendAccountAreaPage(
    ctx,
    {
      current: SETTINGS_PATH,
      heading: navigation.settings(),
      outcomes: SETTINGS_OUTCOMES,
      ...(problem === undefined ? {} : { problem }),
      children,
    },
    status,
  );
}

/** Wraps the handlers of the page's forms: a service error is shown on the page. */
export const withSettingsErrors = showErrorsOn(renderSettingsPage);
