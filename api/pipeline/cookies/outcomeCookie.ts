import { MINUTE_MS } from '../../../shared/spec/durations.ts';
import type { Context } from '../../context.ts';
import { setCookie } from './setCookie.ts';

const OUTCOME_COOKIE = 'outcome';
/** Time for the browser to follow the redirect. */
const OUTCOME_TTL_MS = MINUTE_MS;
const OUTCOME_PARAMETER = /[?&]done=([a-z0-9-]{1,40})(?:&|$)/;

/**
 * Stores the outcome in the address of a redirect, such as `/account/keys/?done=revoked`, so that its page shows it.
 * An address alone does not: anyone can make one, and it stays in the history.
 */
export function rememberOutcome(ctx: Context, address: string): void {
  const code = OUTCOME_PARAMETER.exec(address)?.[1];
  if (code !== undefined) setCookie(ctx, OUTCOME_COOKIE, code, { maxAge: OUTCOME_TTL_MS });
}

/** Returns the outcome in the URL once, if the last action of this browser had it. */
export function consumeOutcome(ctx: Context): string | undefined {
  const { done } = ctx.query;
  if (typeof done !== 'string' || done === '' || ctx.cookies.get(OUTCOME_COOKIE) !== done) return undefined;
  setCookie(ctx, OUTCOME_COOKIE, '', { maxAge: 0 });
  return done;
}
