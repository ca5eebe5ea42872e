import {
  getNotificationSettings,
  isSwitchable,
  NOTIFICATIONS_PATH,
  updateNotificationSettings,
} from '../../../../../shared/domain/emails/settings.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import { EMAIL_KINDS } from '../../../../../shared/spec/events.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { SETTINGS_PATH } from '../../../signIn/pages/settings/outcomes.ts';
import { SETTINGS, t } from './texts.ts';
import { NotificationsForm } from './view.tsx';

const OUTCOMES = { saved: SETTINGS.saved } as const;
const CREDITS = /^\d{1,9}$/;

export async function renderNotificationsPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const settings = await getNotificationSettings(requireCaller(ctx).accountId);
  const children = <NotificationsForm settings={settings} />;
  const page = { current: SETTINGS_PATH, heading: t.notifications(), outcomes: OUTCOMES, ...flash, children } as const;
  await sendAccountAreaPage(ctx, page, status);
}

/** Saves which messages are sent. An empty threshold is the default. */
export const saveNotifications = showErrorsOn(renderNotificationsPage)(async (ctx) => {
  const form = getForm(ctx);
  const threshold = (form.get('threshold') ?? '').trim();
  if (threshold !== '' && !CREDITS.test(threshold))
    throw new ServiceError('validation_error', 'The threshold must be a whole number of credits, or empty.', {
      field: 'threshold',
    });
  const kinds = EMAIL_KINDS.filter(isSwitchable).map((kind) => [kind, form.has(kind)]);
  await updateNotificationSettings(requireCaller(ctx), {
    email: Object.fromEntries(kinds) as Record<string, boolean>,
    creditsLowThreshold: threshold === '' ? null : Number(threshold),
  });
  seeOther(ctx, `${NOTIFICATIONS_PATH}?done=saved`);
});
