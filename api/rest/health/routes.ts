import { VERSION } from '../../../shared/spec/version.ts';
import { getReadinessProblems } from '../../../shared/domain/platform/readiness.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';

export function health(ctx: Context): void {
  ctx.body = { status: 'ok', version: VERSION };
}

/** Whether work gets done here, for what sends requests to this process or starts others in its place. */
export async function ready(ctx: Context): Promise<void> {
  ctx.set('cache-control', 'no-store');
  const problems = ctx.state.isDraining === true ? ['the process is stopping'] : await getReadinessProblems();
  if (problems.length > 0) {
    const headers = { 'retry-after': '5' };
    throw new ServiceError('internal_error', `Not ready: ${problems.join('; ')}.`, { status: 503, headers });
  }
  ctx.body = { status: 'ready' };
}
