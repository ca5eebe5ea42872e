import { upstreamRequests } from '../../lib/meters.ts';
import { type Upstream, UpstreamError } from './upstream.ts';

/** An upstream of which it is counted how long its answers take, and what becomes of them. */
export function metered(name: string, upstream: Upstream): Upstream {
  const meter = <Asked extends unknown[], Answer>(operation: string, ask: (...asked: Asked) => Promise<Answer>) => {
    return async (...asked: Asked): Promise<Answer> => {
      const startedAt = performance.now();
      const note = (outcome: string) =>
        upstreamRequests.observe({ upstream: name, operation, outcome }, (performance.now() - startedAt) / 1_000);
      try {
        const answer = await ask(...asked);
        note('ok');
        return answer;
      } catch (error) {
        note(error instanceof UpstreamError ? error.fault : 'error');
        throw error;
      }
    };
  };
  return {
    kind: upstream.kind,
    isSynchronous: upstream.isSynchronous,
    submit: meter('submit', (job) => upstream.submit(job)),
    check: meter('check', (handle) => upstream.check(handle)),
    cancel: meter('cancel', (handle) => upstream.cancel(handle)),
    probe: meter('probe', () => upstream.probe()),
  };
}
