import { tryParseBoundedJson } from '../../../shared/lib/boundedJson.ts';
import type { Context } from '../../context.ts';
import { MINUTE_MS } from '../../../shared/spec/durations.ts';
import { setCookie } from './setCookie.ts';

/** Values of an account page form that was submitted after its session had ended. */
export type FormDraft = Partial<Record<(typeof DRAFT_FIELDS)[number], string>>;

const DRAFT_COOKIE = 'draft';
const DRAFT_COOKIE_PATH = '/account/';
const DRAFT_TTL_MS = 10 * MINUTE_MS;
/** Fields that are kept. They must not contain secrets. */
const DRAFT_FIELDS = ['first_name', 'use_case', 'language', 'name'] as const;
/** Hidden field with the account for which the form was rendered. */
export const DRAFT_ACCOUNT_FIELD = 'account';
/** Limit below the size at which browsers drop cookies. */
const DRAFT_MAX_CHARACTERS = 3_500;

/** Stores the form values until the account page is shown again, for ten minutes at most. */
export function saveDraft(ctx: Context): void {
  const { form } = ctx.state;
  const account = form?.get(DRAFT_ACCOUNT_FIELD);
  if (form === undefined || typeof account !== 'string') return;
  const typed = DRAFT_FIELDS.map((name) => [name, form.get(name)] as const).filter(([, text]) => text !== null);
  const value = Buffer.from(JSON.stringify({ ...Object.fromEntries(typed), account })).toString('base64url');
  if (typed.length > 0 && value.length <= DRAFT_MAX_CHARACTERS) setDraftCookie(ctx, value, DRAFT_TTL_MS);
}

/** Returns the draft of this account and deletes it. Another account that signs in gets an empty draft. */
export function consumeDraft(ctx: Context, accountUuid: string): FormDraft {
  const value = ctx.cookies.get(DRAFT_COOKIE);
  if (value === undefined || value === '') return {};
  setDraftCookie(ctx, '', 0);
  const draft = parseDraft(value);
  if (draft[DRAFT_ACCOUNT_FIELD] !== accountUuid) return {};
  return Object.fromEntries(
    DRAFT_FIELDS.map((name) => [name, draft[name]]).filter(([, text]) => typeof text === 'string'),
  );
}

function parseDraft(value: string): Record<string, unknown> {
  const draft = tryParseBoundedJson(Buffer.from(value, 'base64url').toString());
  return typeof draft === 'object' && draft !== null ? { ...draft } : {};
}

const setDraftCookie = (ctx: Context, value: string, maxAge: number): void =>
  setCookie(ctx, DRAFT_COOKIE, value, { maxAge, path: DRAFT_COOKIE_PATH });
