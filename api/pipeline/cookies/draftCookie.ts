import type { Context } from '../../context.ts';
import { isHttps } from './sessionCookie.ts';

/** What was typed into a form of the account's page that could not be taken, as the session had ended. */
export type FormDraft = Partial<Record<(typeof DRAFT_FIELDS)[number], string>>;

const DRAFT_COOKIE = 'draft';
const DRAFT_COOKIE_PATH = '/account/';
const DRAFT_TTL_MS = 600_000;
/** None of them is a secret. */
const DRAFT_FIELDS = ['first_name', 'use_case', 'name'] as const;
/** Hidden field with the account that the form was shown to. */
export const DRAFT_ACCOUNT_FIELD = 'account';
/** Browsers drop larger cookies. */
const DRAFT_MAX_CHARACTERS = 3_500;

/** Keeps what was typed until the account's page is shown again, at most for ten minutes. */
export function saveDraft(ctx: Context): void {
  const { form } = ctx.state;
  const account = form?.get(DRAFT_ACCOUNT_FIELD);
  if (form === undefined || typeof account !== 'string') return;
  const typed = DRAFT_FIELDS.map((name) => [name, form.get(name)] as const).filter(([, text]) => text !== null);
  const value = Buffer.from(JSON.stringify({ ...Object.fromEntries(typed), account })).toString('base64url');
  if (typed.length > 0 && value.length <= DRAFT_MAX_CHARACTERS) setDraftCookie(ctx, value, DRAFT_TTL_MS);
}

/** What this account had typed, once. Another account that signs in instead gets nothing of it. */
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
  try {
    const draft: unknown = JSON.parse(Buffer.from(value, 'base64url').toString());
    return typeof draft === 'object' && draft !== null ? { ...draft } : {};
  } catch {
    return {};
  }
}

function setDraftCookie(ctx: Context, value: string, maxAge: number): void {
  ctx.cookies.secure = isHttps();
  const options = {
    httpOnly: true,
    sameSite: 'lax',
    path: DRAFT_COOKIE_PATH,
    overwrite: true,
    secure: isHttps(),
    maxAge,
  } as const;
  ctx.cookies.set(DRAFT_COOKIE, value, options);
}
