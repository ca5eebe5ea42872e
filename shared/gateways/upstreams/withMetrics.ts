import { upstreamRequestDuration } from '../../lib/metrics.ts';
import { type Upstream, UpstreamError } from './upstream.ts';

/** An upstream of which it is counted how long its answers take, and what becomes of them. */
export function withMetrics(name: string, upstream: Upstream): Upstream {
  const measure = <Asked extends unknown[], Answer>(operation: string, ask: (...asked: Asked) => Promise<Answer>) => {
    return async (...asked: Asked): Promise<Answer> => {
      const startedAt = performance.now();
      const observe = (outcome: string) =>
        upstreamRequestDuration.observe(
          { upstream: name, operation, outcome },
          (performance.now() - startedAt) / 1_000,
        );
      try {
        const answer = await ask(...asked);
        observe('ok');
        return answer;
      } catch (error) {
        observe(error instanceof UpstreamError ? error.fault : 'error');
        throw error;
      }
    };
  };
  return {
    kind: upstream.kind,
    isSynchronous: upstream.isSynchronous,
    submit: measure('submit', (request) => upstream.submit(request)),
    check: measure('check', (handle) => upstream.check(handle)),
    cancel: measure('cancel', (handle) => upstream.cancel(handle)),
    probe: measure('probe', () => upstream.probe()),
  };
}
