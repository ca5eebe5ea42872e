import { SpanKind } from '@opentelemetry/api';
import { upstreamRequestDuration } from '../../lib/metrics.ts';
import { withSpan } from '../../lib/tracing.ts';
import { type Upstream, UpstreamError } from './upstream.ts';

/** Wraps an upstream to record the duration and outcome of its requests. */
export function withMetrics(name: string, upstream: Upstream): Upstream {
  const measure = <Args extends unknown[], Result>(operation: string, call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      const startedAt = performance.now();
      const observe = (outcome: string) =>
        upstreamRequestDuration.observe(
          { upstream: name, operation, outcome },
          (performance.now() - startedAt) / 1_000,
        );
      try {
        const attributes = { 'upstream.name': name };
        const details = { name: `${operation} ${name}`, kind: SpanKind.CLIENT, attributes };
        const result = await withSpan(details, () => call(...args));
        observe('ok');
        return result;
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
    poll: measure('poll', (handle, options) => upstream.poll(handle, options)),
    cancel: measure('cancel', (handle) => upstream.cancel(handle)),
    probe: measure('probe', () => upstream.probe()),
  };
}
