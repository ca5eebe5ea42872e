import { MINUTE_MS } from '../../../shared/spec/durations.ts';
import type { Context } from '../../context.ts';
import { CSRF_FIELD } from '../csrf.ts';
import { REQUEST_FIELD } from '../idempotency.ts';
import { setCookie } from './setCookie.ts';

const DRAFT_COOKIE = 'draft';
const DRAFT_COOKIE_PATH = '/account/';
const DRAFT_TTL_MS = 10 * MINUTE_MS;
/** Hidden field with the account for which the form was rendered. Only forms without secrets have it. */
export const DRAFT_ACCOUNT_FIELD = 'account';
/** Limit below the size at which browsers drop cookies. */
const DRAFT_MAX_CHARACTERS = 3_500;

/**
 * Stores what was entered in a form of an account page until the page is shown again, for ten minutes at most: all of
 * it or, if it is too long, nothing.
 */
export function saveDraft(ctx: Context): void {
  const { form } = ctx.state;
  if (form?.has(DRAFT_ACCOUNT_FIELD) !== true) return;
  const entered = new URLSearchParams(form);
  for (const name of [CSRF_FIELD, REQUEST_FIELD]) entered.delete(name);
  const value = entered.toString();
  if (value.length <= DRAFT_MAX_CHARACTERS) setDraftCookie(ctx, value, DRAFT_TTL_MS);
  else setDraftCookie(ctx, '', 0);
}

/** Returns the draft of this account and deletes it. Another account that signs in gets none. */
export function consumeDraft(ctx: Context, accountUuid: string): URLSearchParams | undefined {
  const value = ctx.cookies.get(DRAFT_COOKIE);
  if (value === undefined || value === '') return undefined;
  setDraftCookie(ctx, '', 0);
  const draft = new URLSearchParams(value);
  return draft.get(DRAFT_ACCOUNT_FIELD) === accountUuid ? draft : undefined;
}

const setDraftCookie = (ctx: Context, value: string, maxAge: number): void =>
  setCookie(ctx, DRAFT_COOKIE, value, { maxAge, path: DRAFT_COOKIE_PATH });
