import type { Language } from '../spec/languages.ts';

/**
 * Numbers, amounts and times as they are written in a language. English is written with dates as in Britain and dollars
 * as in the United States. Times are UTC, because the time zone of the reader is unknown.
 */
export function getLocale(language: Language): string {
  return language === 'en' ? 'en-GB' : language;
}

/** Formats credits or counts: 1,100. */
export function formatLocalNumber(language: Language, value: number): string {
  return value.toLocaleString(getLocale(language));
}

/** Formats an amount without cents that are zero: $29, $18.96. */
export function formatLocalUsd(language: Language, cents: number): string {
  return (cents / 100).toLocaleString(language === 'en' ? 'en-US' : language, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: cents % 100 === 0 ? 0 : 2,
  });
}

const DAY = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;

/** Formats a day: 22 Nov 2026. */
export function formatLocalDate(language: Language, date: Date): string {
  return date.toLocaleDateString(getLocale(language), DAY);
}

/** Formats a time to the minute: 22 Nov 2026, 16:40. */
export function formatLocalDateTime(language: Language, date: Date): string {
  const separator = language === 'ja' || language === 'zh-CN' ? ' ' : ', ';
  return `${formatLocalDate(language, date)}${separator}${date.toISOString().slice(11, 16)}`;
}
