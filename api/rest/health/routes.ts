import { VERSION } from '../../../shared/spec/version.ts';
import { getReadinessProblems } from '../../../shared/domain/platform/readiness.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';

export function health(ctx: Context): void {
  ctx.body = { status: 'ok', version: VERSION };
}

const STOPPING = 'the process is stopping';

/**
 * Serving probe: 200 until this process drains, also while the database is unavailable. A load balancer that uses it
 * keeps its servers during an outage, whose 503 then reach the clients.
 */
export function serving(ctx: Context): void {
  ctx.set('cache-control', 'no-store');
  if (ctx.state.isDraining === true) throw notReady([STOPPING]);
  ctx.body = { status: 'serving' };
}

/** Readiness probe: 200 while requests are served and their work gets done. For alarms and deployments. */
export async function ready(ctx: Context): Promise<void> {
  ctx.set('cache-control', 'no-store');
  const problems = ctx.state.isDraining === true ? [STOPPING] : await getReadinessProblems();
  if (problems.length > 0) throw notReady(problems);
  ctx.body = { status: 'ready' };
}

function notReady(problems: string[]): ServiceError {
  return new ServiceError('internal_error', `Not ready: ${problems.join('; ')}.`, { retryAfterSeconds: 5 });
}
