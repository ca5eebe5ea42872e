/** Languages of pages and e-mail, each with its name in itself. */
export const LANGUAGE_NAMES = {
  en: 'English',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  ja: '日本語',
  'zh-CN': '简体中文',
} as const;

export type Language = keyof typeof LANGUAGE_NAMES;

export const LANGUAGES = Object.keys(LANGUAGE_NAMES) as Language[];

/**
 * Finds the language for a code such as `de-AT` or `zh-Hant`, which names the same one or a variant; otherwise English.
 */
export function findLanguage(code: string): Language {
  const primary = getPrimarySubtag(code);
  return LANGUAGES.find((language) => getPrimarySubtag(language) === primary) ?? 'en';
}

/** Returns `de` of `de-AT`. */
export function getPrimarySubtag(code: string): string {
  return code.toLowerCase().replace(/-.*/, '');
}
