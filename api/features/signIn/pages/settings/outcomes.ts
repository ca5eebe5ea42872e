import type { Outcomes } from '../../../../web/components/areaPage.tsx';
import { t } from './texts.ts';

export const SETTINGS_PATH = '/account/settings/';

export const SETTINGS_OUTCOMES = {
  profile: t.profileSaved,
  'session-ended': t.sessionEnded,
  'others-ended': t.othersEnded,
  'identity-linked': t.methodLinked,
  'deletion-undone': t.deletionUndone,
  'identity-removed': t.methodRemoved,
} as const satisfies Outcomes;

export type SettingsOutcome = keyof typeof SETTINGS_OUTCOMES;

/** Builds the path of the settings page, which shows the outcome. */
export function buildOutcomePath(outcome: SettingsOutcome): string {
  return `${SETTINGS_PATH}?done=${outcome}`;
}
