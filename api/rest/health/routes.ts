import { VERSION } from '../../../shared/spec/version.ts';
import { getReadinessProblems } from '../../../shared/domain/platform/readiness.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';

export function health(ctx: Context): void {
  ctx.body = { status: 'ok', version: VERSION };
}

/** Readiness probe: 200 while this process can serve requests and a worker runs. For load balancers and platforms. */
export async function ready(ctx: Context): Promise<void> {
  ctx.set('cache-control', 'no-store');
  const problems = ctx.state.isDraining === true ? ['the process is stopping'] : await getReadinessProblems();
  if (problems.length > 0)
    throw new ServiceError('internal_error', `Not ready: ${problems.join('; ')}.`, { retryAfterSeconds: 5 });
  ctx.body = { status: 'ready' };
}
