import type Koa from 'koa';
import { describeOutage, isDeadlock, isOutage } from '../../shared/lib/database/errors.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { getRequestLogger, type State } from '../context.ts';
import { negotiateLanguage, withLanguage } from '../language.ts';
import { sendErrorPage } from '../web/components/errorPage.tsx';
import { getErrorHeaders, getErrorStatus } from './httpError.ts';

/**
 * Renders errors as the error envelope, or as a page for people. Unknown errors become a 500 without internal details.
 */
export const handleErrors: Koa.Middleware<State> = async (ctx, next) => {
  try {
    await next();
    if (ctx.status === 404 && ctx.body === undefined) throw new ServiceError('not_found', describeNotFound(ctx));
  } catch (thrown) {
    const error = toServiceError(thrown, ctx);
    const status = getErrorStatus(error);
    ctx.status = status;
    ctx.set(getErrorHeaders(error));
    // Also for a key that the statement of the handler found revoked.
    if (status === 401 && !ctx.res.hasHeader('www-authenticate')) ctx.set('www-authenticate', 'Bearer');
    if (ctx.state.isPage === true)
      return withLanguage(ctx.state.language ?? negotiateLanguage(ctx), () => sendErrorPage(ctx, error, status));
    ctx.body = { error: error.code, detail: error.message };
  }
};

/** Detail of the 404 for a path that no route serves. */
export function describeNotFound(ctx: Koa.ParameterizedContext): string {
  const path = ctx.path.slice(0, 200);
  return ctx.state.isPage === true ? `There is no page at ${path}.` : `There is nothing at ${ctx.method} ${path}.`;
}

/** Converts anything thrown into an error that a client may see. Unknown errors are logged in full. */
export function toServiceError(thrown: unknown, ctx: { state: State }): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const hasDeadlock = isDeadlock(thrown);
  if (hasDeadlock || isOutage(thrown)) {
    const { event, reason, retryAfterSeconds } = describeOutage(thrown);
    const message = hasDeadlock ? 'transaction ended by a deadlock' : event;
    getRequestLogger(ctx.state).error({ error: (thrown as Error).message }, message);
    const effect = ctx.state.hasBegun === true ? '' : ' The request was not run.';
    return new ServiceError('internal_error', `${reason}${effect} Try again in a few seconds.`, { retryAfterSeconds });
  }
  getRequestLogger(ctx.state).error({ err: thrown }, 'request failed');
  return new ServiceError('internal_error', `Something failed on our side. Quote ${ctx.state.requestId} to support.`);
}
