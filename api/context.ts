import type Koa from 'koa';
import type { Caller } from '../shared/domain/accounts/accounts.ts';
import type { Logger } from '../shared/lib/logger.ts';

/** What the middleware leaves for a handler. */
export interface State {
  requestId: string;
  log: Logger;
  /** The process is stopping. */
  isDraining?: boolean;
  /** Who is asking; absent on public routes. */
  caller?: Caller;
  /** The value of the session cookie that the caller was recognised by. */
  sessionToken?: string;
  /** Whether a person is reading: then what goes wrong is told by a page. */
  isPage?: boolean;
  /** The form that a page was sent. */
  form?: URLSearchParams;
  /** The generation that the request made, for the log. */
  generationId?: string;
  /** The pattern of the route that serves the request. */
  route?: string;
}

export type Context = Koa.ParameterizedContext<State>;
export type Handler = (ctx: Context) => Promise<void> | void;

/** The caller of a route that has one. */
export function requireCaller(ctx: Context): Caller {
  if (ctx.state.caller === undefined) throw new Error(`${ctx.state.route} has no caller: it is a public route.`);
  return ctx.state.caller;
}
