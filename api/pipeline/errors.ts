import type Koa from 'koa';
import { isOutage } from '../../shared/lib/db.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { State } from '../context.ts';
import { sendErrorPage } from '../web/components/errorPage.tsx';

/** Renders whatever was thrown further in as the error envelope, or as a page to people; a stranger's error as a 500 that gives nothing away. */
export const handleErrors: Koa.Middleware<State> = async (ctx, next) => {
  try {
    await next();
    if (ctx.status === 404 && ctx.body === undefined) throw new ServiceError('not_found', notFoundDetail(ctx));
  } catch (thrown) {
    const error = toServiceError(thrown, ctx);
    ctx.status = error.status;
    ctx.set(error.extras.headers ?? {});
    // Also where the statement that served the request found the key to be no good.
    if (error.status === 401 && !ctx.res.hasHeader('www-authenticate')) ctx.set('www-authenticate', 'Bearer');
    if (ctx.state.isPage === true) return sendErrorPage(ctx, error);
    ctx.body = { error: error.code, detail: error.message };
  }
};

function notFoundDetail(ctx: Koa.ParameterizedContext): string {
  return `There is nothing at ${ctx.method} ${ctx.path.slice(0, 200)}.`;
}

/** What was thrown as the error that a client may see; a stranger's is logged in full. */
export function toServiceError(thrown: unknown, ctx: { state: State }): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (isOutage(thrown)) {
    ctx.state.log.error({ error: (thrown as Error).message }, 'the database is out of reach');
    return new ServiceError(
      'internal_error',
      'The service is out of reach for the moment. Try again in some seconds.',
      {
        status: 503,
        headers: { 'retry-after': '5' },
      },
    );
  }
  ctx.state.log.error({ err: thrown }, 'a request failed');
  return new ServiceError('internal_error', `Something failed on our side. Quote ${ctx.state.requestId} to support.`);
}
