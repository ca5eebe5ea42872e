import type { Context } from '../context.ts';
import { isSecure } from './sessionCookie.ts';

/** What was typed into a form of the account's page that could not be taken, as the session had ended. */
export type Draft = Partial<Record<(typeof FIELDS)[number], string>>;

const COOKIE = 'draft';
const PATH = '/account/';
const KEPT_MS = 600_000;
/** None of them is a secret. */
const FIELDS = ['first_name', 'use_case', 'name'] as const;
/** Hidden field with the account that the form was shown to. */
export const DRAFT_ACCOUNT = 'account';
/** Browsers drop larger cookies. */
const MAX_CHARACTERS = 3_500;

/** Keeps what was typed until the account's page is shown again, at most for ten minutes. */
export function keepDraft(ctx: Context): void {
  const { form } = ctx.state;
  const account = form?.get(DRAFT_ACCOUNT);
  if (form === undefined || typeof account !== 'string') return;
  const typed = FIELDS.map((name) => [name, form.get(name)] as const).filter(([, text]) => text !== null);
  const value = Buffer.from(JSON.stringify({ ...Object.fromEntries(typed), account })).toString('base64url');
  if (typed.length > 0 && value.length <= MAX_CHARACTERS) set(ctx, value, KEPT_MS);
}

/** What this account had typed, once. Another account that signs in instead gets nothing of it. */
export function takeDraft(ctx: Context, accountUuid: string): Draft {
  const value = ctx.cookies.get(COOKIE);
  if (value === undefined || value === '') return {};
  set(ctx, '', 0);
  const draft = parse(value);
  if (draft[DRAFT_ACCOUNT] !== accountUuid) return {};
  return Object.fromEntries(FIELDS.map((name) => [name, draft[name]]).filter(([, text]) => typeof text === 'string'));
}

function parse(value: string): Record<string, unknown> {
  try {
    const draft: unknown = JSON.parse(Buffer.from(value, 'base64url').toString());
    return typeof draft === 'object' && draft !== null ? { ...draft } : {};
  } catch {
    return {};
  }
}

function set(ctx: Context, value: string, maxAge: number): void {
  ctx.cookies.secure = isSecure();
  const options = { httpOnly: true, sameSite: 'lax', path: PATH, overwrite: true, secure: isSecure(), maxAge } as const;
  ctx.cookies.set(COOKIE, value, options);
}
