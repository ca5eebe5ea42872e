import { EMAIL_KINDS } from '../../../shared/spec/events.ts';
import type { FeatureDescription } from '../openapi/feature.ts';
import { NotificationSettingsRequest, NotificationSettingsResponse } from './schemas.ts';

const EXAMPLE_SETTINGS = {
  email: Object.fromEntries(EMAIL_KINDS.map((kind) => [kind, true])),
  credits_low_threshold: 100,
};

export const NOTIFICATIONS_DESCRIPTION: FeatureDescription = {
  tag: { name: 'Notifications', description: 'What the owner of the account is notified of by e-mail.' },
  schemas: {
    NotificationSettings: NotificationSettingsResponse,
    NotificationSettingsChange: NotificationSettingsRequest,
  },
  operations: {
    'GET /api/notifications/settings/': {
      id: 'getNotificationSettings',
      summary: 'Get the notification settings',
      response: {
        status: 200,
        description: 'The current settings.',
        schema: NotificationSettingsResponse,
        example: EXAMPLE_SETTINGS,
      },
    },
    'PATCH /api/notifications/settings/': {
      id: 'updateNotificationSettings',
      summary: 'Update the notification settings',
      description:
        'Omitted fields keep their values. `key_created`, `application_connected`, `new_sign_in` and `identity_removed` are about security and cannot be switched off. The threshold also applies to the webhook event `credits.low`.',
      body: {
        schema: NotificationSettingsRequest,
        example: { email: { payout_sent: false }, credits_low_threshold: 100 },
        isOptional: true,
      },
      response: {
        status: 200,
        description: 'The updated settings.',
        schema: NotificationSettingsResponse,
        example: { ...EXAMPLE_SETTINGS, email: { ...EXAMPLE_SETTINGS.email, payout_sent: false } },
      },
    },
  },
};
