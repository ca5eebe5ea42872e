import { DE } from './de.ts';
import type { EmailTexts } from './emailTexts.ts';
import { EN } from './en.ts';

/** Texts of all messages, by language. A new language is a file of this folder and a line here. */
export const EMAIL_TEXTS: Readonly<Record<string, EmailTexts>> = { en: EN, de: DE };

/** Returns the texts in the language of an account, such as `de` or `de-AT`; in English if there are none. */
export function getEmailTexts(language: string): EmailTexts {
  const [primary = ''] = language.toLowerCase().split('-');
  return Object.hasOwn(EMAIL_TEXTS, primary) ? (EMAIL_TEXTS[primary] as EmailTexts) : EN;
}
