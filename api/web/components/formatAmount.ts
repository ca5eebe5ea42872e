import { formatLocalNumber, formatLocalUsd, getLocale } from '../../../shared/lib/localFormats.ts';
import { getLanguage } from '../../language.ts';

/** Formats credits or counts: 1,100. */
export function formatNumber(value: number): string {
  return formatLocalNumber(getLanguage(), value);
}

/** Formats a rate with one decimal: 22.0. */
export function formatRate(value: number): string {
  return value.toLocaleString(getLocale(getLanguage()), { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** Formats a count with its noun, in English: 1 API key, 2 API keys. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats an amount without cents that are zero: $29, $18.96. */
export function formatUsd(cents: number): string {
  return formatLocalUsd(getLanguage(), cents);
}

/** Formats an amount of any currency: $59.50. @param currency three letters in lower case. */
export function formatMoney(cents: number, currency: string): string {
  if (currency === 'usd') return formatUsd(cents);
  return `${(cents / 100).toFixed(2)} ${currency.toUpperCase()}`;
}

/** Formats credits that were added or used, with their sign: +1,100, −8. */
export function formatChange(credits: number): string {
  return `${credits < 0 ? '−' : '+'}${formatNumber(Math.abs(credits))}`;
}

/** Joins names: Google, Apple or GitHub. */
export function formatAlternatives(names: readonly string[]): string {
  return new Intl.ListFormat(getLocale(getLanguage()), { type: 'disjunction' }).format(names);
}
