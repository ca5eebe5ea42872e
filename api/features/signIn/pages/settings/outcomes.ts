import type { Outcomes } from '../../../../web/components/areaPage.tsx';
import { t } from './texts.ts';

export const SETTINGS_PATH = '/account/settings/';

export const SETTINGS_OUTCOMES = {
  profile: [t.profileSaved, t.profileSavedSentence],
  'session-ended': [t.sessionEnded, t.sessionEndedSentence],
  'others-ended': [t.othersEnded, t.othersEndedSentence],
  'identity-linked': [t.methodLinked, t.methodLinkedSentence],
  'deletion-undone': [t.deletionUndone, t.deletionUndoneSentence],
  'identity-removed': [t.methodRemoved, t.methodRemovedSentence],
} as const satisfies Outcomes;

export type SettingsOutcome = keyof typeof SETTINGS_OUTCOMES;

/** Builds the path of the settings page, which shows the outcome. */
export function buildOutcomePath(outcome: SettingsOutcome): string {
  return `${SETTINGS_PATH}?done=${outcome}`;
}
