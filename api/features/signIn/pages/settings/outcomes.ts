import type { Outcomes } from '../../../../web/components/areaPage.tsx';

export const SETTINGS_PATH = '/account/settings/';

export const SETTINGS_OUTCOMES = {
  profile: ['Profile saved', 'Profile saved.'],
  'session-ended': ['Session ended', 'The session is signed out.'],
  'others-ended': ['Other sessions ended', 'All other sessions are signed out.'],
  'identity-linked': ['Sign-in method linked', 'The sign-in method is linked. You can now sign in with it.'],
  'deletion-undone': [
    'Deletion undone',
    'The deletion is undone. A renewal that the deletion stopped is resumed within a minute. API keys, applications and automatic top-ups stay off until you set them up again.',
  ],
  'identity-removed': ['Sign-in method removed', 'The sign-in method is removed.'],
} as const satisfies Outcomes;

export type SettingsOutcome = keyof typeof SETTINGS_OUTCOMES;

/** Builds the path of the settings page, which shows the outcome. */
export function buildOutcomePath(outcome: SettingsOutcome): string {
  return `${SETTINGS_PATH}?done=${outcome}`;
}
