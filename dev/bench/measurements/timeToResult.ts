import { Redis } from 'ioredis';
import type { Client } from 'pg';
import type { BenchEnvironment } from '../environment.ts';
import { buildCreateRequest, listSpreadAccounts } from '../httpRequests.ts';
import type { Measurement } from '../report.ts';
import { seedDatabase } from '../seed.ts';
import type { TargetName } from '../targets.ts';
import { verifyAllSucceeded, verifySums } from '../verify.ts';
import { countQueued, waitForSteadyState, waitForWorker } from '../waitForSteadyState.ts';

/** Creates a second, with the figure of each. */
const RATES = [
  [5, 'result5'],
  [50, 'result50'],
  [150, 'result150'],
] as const satisfies [number, TargetName][];

interface AddedTime {
  medianMs: number;
  p99Ms: number;
  count: number;
}

/**
 * Measures the time that the service adds to that of its upstream, from the create to the end, in an open loop: creates
 * are sent at a constant rate, however long earlier ones take. With call-backs, and without them.
 */
export async function measureTimeToResult(environment: BenchEnvironment): Promise<Measurement[]> {
  const withPolls = await measureMode(environment, false);
  const withCallbacks = await measureMode(environment, true);
  return RATES.map(([rate, target], index) => {
    const [polls, callbacks] = [withPolls[index]!, withCallbacks[index]!];
    return {
      target,
      value: callbacks.medianMs,
      parts: {
        'p99 ms': callbacks.p99Ms,
        'polls only, ms': polls.medianMs,
        'its p99 ms': polls.p99Ms,
        generations: callbacks.count,
        upstream: `300 to 3,000 ms, ${rate} creates/s`,
      },
    };
  });
}

async function measureMode(environment: BenchEnvironment, hasCallbacks: boolean): Promise<AddedTime[]> {
  const { accounts, timeToResult } = environment.options;
  const { url, client } = await environment.database(hasCallbacks ? 'bench_callbacks' : 'bench_polls');
  await seedDatabase(client, { accounts, hotRows: 0, rowsPerAccount: 0 });
  const upstream = await environment.child('./baselines/timedUpstream.ts', url);
  const base = await upstream.call<string>('base');
  const env = (callbacks: boolean | string) => ({
    FAL_BASE_URL: base,
    FAL_KEY: 'bench',
    ...(hasCallbacks ? { UPSTREAMS: JSON.stringify({ upstreams: { fal: { callbacks } } }) } : {}),
  });
  const api = await environment.api(url, env(true));
  const worker = await environment.worker(url, env(`http://127.0.0.1:${api.port}`));
  await waitForWorker(client);
  const http = await environment.child('./load/httpLoad.ts', url);
  const requests = listSpreadAccounts(accounts).map((account) => buildCreateRequest(account));
  await http.call('prepare', { name: 'create', port: api.port, expect: 201, requests });
  await http.call('runOpen', 'create', RATES[0][0], timeToResult.warmUpMs);

  const results: AddedTime[] = [];
  for (const [rate] of RATES) {
    const startedAt = new Date();
    await http.call('runOpen', 'create', rate, timeToResult.durationMs);
    await waitForSteadyState(async () => (await countQueued(client)) === 0);
    results.push(await readAddedTime(client, startedAt));
  }
  const { submitted, calledBack } = await upstream.call<{ submitted: number; calledBack: number }>('counts');
  if (hasCallbacks && calledBack < submitted)
    throw new Error(`Of ${submitted} call-backs ${calledBack} were accepted.`);
  await verifySums(client, submitted);
  await verifyAllSucceeded(client);
  await Promise.all([api, worker, http, upstream].map((process) => process.end()));
  const redis = new Redis(environment.redis.url);
  await redis.flushall();
  redis.disconnect();
  return results;
}

/** The id of each request at the upstream begins with its duration. */
async function readAddedTime(client: Client, startedAt: Date): Promise<AddedTime> {
  const { rows } = await client.query<AddedTime>(
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY added) AS "medianMs",
            percentile_cont(0.99) WITHIN GROUP (ORDER BY added) AS "p99Ms", count(*)::int AS count
       FROM (SELECT 1000 * extract(epoch FROM completed_at - created_at)::float8
                      - split_part(upstream_handle ->> 'request_id', '-', 1)::int AS added
               FROM generations WHERE created_at >= $1) times`,
    [startedAt],
  );
  return rows[0]!;
}
