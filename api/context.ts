import type Koa from 'koa';
import type { Caller } from '../shared/domain/accounts/caller.ts';
import type { ReadByKey } from '../shared/domain/generations/read.ts';
import type { StaffActor } from '../shared/domain/audit/recordAuditEntry.ts';
import { type Logger, logger } from '../shared/lib/logger.ts';
import type { Language } from '../shared/spec/languages.ts';
import type { StaffRole } from '../shared/spec/staff.ts';
import type { Person } from '../shared/tables/Person.ts';

/** Request state that the pipeline provides to handlers. */
export interface State {
  requestId: string;
  /** True once the process is shutting down. */
  isDraining?: boolean;
  /** The authenticated account. Absent on public routes. */
  caller?: Caller;
  /** True if the caller is that of a known API key, which was not read for this request. */
  isKeyRecalled?: boolean;
  /** Value of the session cookie that authenticated the caller. */
  sessionToken?: string;
  /** Role of the caller on a staff route. */
  staffRole?: StaffRole;
  /** True if a person reads the response: errors are rendered as pages. */
  isPage?: boolean;
  /** The person of the session, on pages. */
  person?: Person | undefined;
  /** Language of the page. */
  language?: Language;
  /** The submitted form. */
  form?: URLSearchParams;
  /** The generation that the request created, for the log. */
  generationId?: string;
  /** True once the handler runs, which may have had an effect. */
  hasBegun?: true;
  /** The route that matched, for logs and metrics. */
  route?: { path: string; isProbe?: true };
  /** The generation that was read together with the API key; null if its account has none with the UUID of the path. */
  generation?: ReadByKey['generation'];
}

export type Context = Koa.ParameterizedContext<State>;
export type Handler = (ctx: Context) => Promise<void> | void;

/** Returns a logger whose lines have the id of the request. Most requests log one line, which has it already. */
export function getRequestLogger({ requestId }: State): Logger {
  return logger.child({ requestId });
}

/** Returns the caller of a route that requires one. */
export function requireCaller(ctx: Context): Caller {
  if (ctx.state.caller === undefined) throw new Error(`${ctx.state.route?.path} has no caller: the route is public.`);
  return ctx.state.caller;
}

/** Returns the person of the session of a page. */
export function requirePerson(ctx: Context): Person {
  if (ctx.state.person === undefined)
    throw new Error(`${ctx.state.route?.path} has no person: it is no page of a session.`);
  return ctx.state.person;
}

/** Returns the staff member who makes the request, and why, for the audit log. */
export function requireActor(ctx: Context, reason: string): StaffActor {
  const { staffRole, requestId } = ctx.state;
  if (staffRole === undefined) throw new Error(`${ctx.state.route?.path} has no staff role: it is not a staff route.`);
  const { accountId } = requireCaller(ctx);
  return { kind: 'staff', accountId, role: staffRole, reason, requestId, ipAddress: ctx.ip };
}
