import type { Static } from 'typebox';
import {
  getNotificationSettings,
  type NotificationSettings,
  updateNotificationSettings,
} from '../../../shared/domain/emails/settings.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { requireCaller, type Context } from '../../context.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { NotificationSettingsRequest, type NotificationSettingsResponse } from './schemas.ts';

const parseSettings = createBodyParser(NotificationSettingsRequest);

export async function readSettings(ctx: Context): Promise<void> {
  ctx.body = presentSettings(await getNotificationSettings(requireCaller(ctx).accountId));
}

export async function updateSettings(ctx: Context): Promise<void> {
  const { email, credits_low_threshold: creditsLowThreshold } = parseSettings(getJsonBody(ctx));
  const { accountId } = requireCaller(ctx);
  const patch = {
    ...(email === undefined ? {} : { email }),
    ...(creditsLowThreshold === undefined ? {} : { creditsLowThreshold }),
  };
  ctx.body = presentSettings(await updateNotificationSettings(accountId, patch));
}

function presentSettings(settings: NotificationSettings): Static<typeof NotificationSettingsResponse> {
  return { email: settings.email, credits_low_threshold: settings.creditsLowThreshold };
}
