import type { Upstream } from '../baselines/upstream.ts';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildCreates } from '../httpRequests.ts';
import { countQueued, verifyAllSucceeded, waitForSteadyState, waitForWorker } from './pipeline.ts';

const CREATES_PER_SECOND = [5, 50, 150] as const;
const SHORTEST_RUN_MS = 300;
const LONGEST_RUN_MS = 3_000;

/** The id of each request at the upstream begins with its duration. */
const ADDED_MS = `
  SELECT array_agg(1000 * extract(epoch FROM completed_at - created_at)::float8
                     - split_part(upstream_handle ->> 'request_id', '-', 1)::int) AS ms
    FROM generations WHERE created_at >= $1`;

/**
 * Measures the time that the service adds to that of its upstream, from the create to the end: creates are sent at a
 * constant rate, however long earlier ones take. With call-backs, and without them.
 */
export async function* measure(bench: Bench): Figures {
  const { accounts, timeToResult } = bench.options;
  for (const mode of ['call-backs', 'polls only'] as const) {
    const hasCallbacks = mode === 'call-backs';
    const { url, client, verify } = await bench.seed(hasCallbacks ? 'callbacks' : 'polls');
    const upstream = await bench.child<Upstream>('baselines/upstream.ts', url);
    const base = { FAL_BASE_URL: await upstream.start(SHORTEST_RUN_MS, LONGEST_RUN_MS), FAL_KEY: 'bench' };
    const buildEnv = (callbacks: boolean | string): Record<string, string> =>
      hasCallbacks ? { ...base, UPSTREAMS: JSON.stringify({ upstreams: { fal: { callbacks } } }) } : base;
    const api = await bench.api(url, buildEnv(true));
    bench.worker(url, buildEnv(`http://127.0.0.1:${api.port}`));
    await waitForWorker(client);
    const http = await bench.http();
    await http.prepare({ name: 'create', port: api.port, expect: 201, requests: buildCreates(accounts) });
    await http.runAtRate('create', CREATES_PER_SECOND[0], timeToResult.warmUpMs);
    for (const rate of CREATES_PER_SECOND)
      yield {
        // The median, because a tail is that of the machine.
        name: `time to result beyond the upstream's own, median, ${mode}, ${rate} creates/s`,
        ours: async () => {
          const startedAt = new Date();
          const { done } = await http.runAtRate('create', rate, timeToResult.durationMs);
          await waitForSteadyState(async () => (await countQueued(client)) === 0);
          return { done, ...(await client.query<{ ms: number[] }>(ADDED_MS, [startedAt])).rows[0] };
        },
        by: 'p50 ms',
        target: hasCallbacks ? [500, 150] : undefined,
      };
    const { submitted, calledBack } = await upstream.counts();
    if (hasCallbacks && calledBack < submitted)
      throw new Error(`Of ${submitted} call-backs ${calledBack} were accepted.`);
    await verify(submitted);
    await verifyAllSucceeded(client);
    await bench.endMeasurement();
  }
}
