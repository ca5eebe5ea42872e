import { AsyncLocalStorage } from 'node:async_hooks';
import { findLanguage, getPrimarySubtag, type Language, LANGUAGES } from '../shared/spec/languages.ts';
import type { Context } from './context.ts';

const currentLanguage = new AsyncLocalStorage<Language>();

/** Returns the language of the page that is being built. English outside of pages: the API, MCP and logs. */
export function getLanguage(): Language {
  return currentLanguage.getStore() ?? 'en';
}

/** Runs a function whose texts are in a language. */
export function withLanguage<Result>(language: Language, run: () => Result): Result {
  return currentLanguage.run(language, run);
}

/** Returns the language that the browser prefers (`Accept-Language`). */
export function negotiateLanguage(ctx: Context): Language {
  return findLanguage(ctx.acceptsLanguages(LANGUAGES.map(getPrimarySubtag)) || 'en');
}
