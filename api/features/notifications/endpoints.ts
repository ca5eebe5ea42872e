import type { Static } from 'typebox';
import {
  getNotificationSettings,
  type NotificationSettings,
  updateNotificationSettings,
} from '../../../shared/domain/emails/settings.ts';
import { EMAIL_KINDS } from '../../../shared/spec/events.ts';
import type { Feature } from '../feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { NotificationSettingsRequest, NotificationSettingsResponse } from './schemas.ts';

const EXAMPLE_SETTINGS = {
  email: Object.fromEntries(EMAIL_KINDS.map((kind) => [kind, true])),
  credits_low_threshold: 100,
};

function presentSettings(settings: NotificationSettings): Static<typeof NotificationSettingsResponse> {
  return { email: settings.email, credits_low_threshold: settings.creditsLowThreshold };
}

export const NOTIFICATIONS: Feature = {
  tag: { name: 'Notifications', description: 'What the owner of the account is notified of by e-mail.' },
  schemas: {
    NotificationSettings: NotificationSettingsResponse,
    NotificationSettingsChange: NotificationSettingsRequest,
  },
  endpoints: [
    defineEndpoint({
      id: 'getNotificationSettings',
      route: 'GET /api/notifications/settings/',
      policy: { needs: 'manageNotifications', access: 'account' },
      summary: 'Get the notification settings',
      response: {
        description: 'The current settings.',
        schema: NotificationSettingsResponse,
        example: EXAMPLE_SETTINGS,
      },
      run: async ({ accountId }) => presentSettings(await getNotificationSettings(accountId)),
    }),
    defineEndpoint({
      id: 'updateNotificationSettings',
      route: 'PATCH /api/notifications/settings/',
      policy: { needs: 'manageNotifications', access: 'account' },
      summary: 'Update the notification settings',
      description:
        'Omitted fields keep their values. `key_created`, `application_connected`, `new_sign_in` and `identity_removed` are about security and cannot be switched off. The threshold also applies to the webhook event `credits.low`.',
      request: NotificationSettingsRequest,
      example: { email: { payout_sent: false }, credits_low_threshold: 100 },
      isRequestOptional: true,
      response: {
        description: 'The updated settings.',
        schema: NotificationSettingsResponse,
        example: { ...EXAMPLE_SETTINGS, email: { ...EXAMPLE_SETTINGS.email, payout_sent: false } },
      },
      run: async ({ caller, body: { email, credits_low_threshold: creditsLowThreshold } }) => {
        const patch = {
          ...(email === undefined ? {} : { email }),
          ...(creditsLowThreshold === undefined ? {} : { creditsLowThreshold }),
        };
        return presentSettings(await updateNotificationSettings(caller, patch));
      },
    }),
  ],
};
