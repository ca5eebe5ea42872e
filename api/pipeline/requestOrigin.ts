import { buildRequestOrigin, type RequestOrigin } from '../../shared/domain/accounts/securityEvents.ts';
import type { Context } from '../context.ts';
import { networkPrefix } from './networkPrefix.ts';

/** Returns network and browser of a request, for the security log and its log lines. */
export function getRequestOrigin(ctx: Context): RequestOrigin {
  const { requestId, caller } = ctx.state;
  const number = caller?.member?.number ?? null;
  return buildRequestOrigin(networkPrefix(ctx.ip), ctx.get('user-agent'), requestId, number);
}
