import type Koa from 'koa';
import { v7 as uuidv7 } from 'uuid';
import { logger } from '../../shared/lib/logger.ts';
import type { State } from '../context.ts';

const ACCEPTABLE_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Gives each request an id, the caller's if it is fit to be one, and logs its end. */
export const requestLog: Koa.Middleware<State> = async (ctx, next) => {
  const startedAt = performance.now();
  const given = ctx.get('x-request-id');
  ctx.state.requestId = ACCEPTABLE_ID.test(given) ? given : uuidv7();
  ctx.state.log = logger.child({ requestId: ctx.state.requestId });
  ctx.set('x-request-id', ctx.state.requestId);
  await next();
  ctx.state.log.info(
    {
      method: ctx.method,
      route: ctx.state.route ?? 'none',
      status: ctx.status,
      ms: Math.round(performance.now() - startedAt),
      account: ctx.state.caller?.accountId,
      generationId: ctx.state.generationId,
    },
    'request',
  );
};
