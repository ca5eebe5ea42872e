import type { Language } from '../../../spec/languages.ts';
import { DE } from './de.ts';
import type { EmailTexts } from './emailTexts.ts';
import { EN } from './en.ts';
import { ES } from './es.ts';
import { FR } from './fr.ts';
import { JA } from './ja.ts';
import { ZH_CN } from './zhCn.ts';

/** Texts of all messages, by language. */
export const EMAIL_TEXTS: Readonly<Record<Language, EmailTexts>> = {
  en: EN,
  de: DE,
  es: ES,
  fr: FR,
  ja: JA,
  'zh-CN': ZH_CN,
};
