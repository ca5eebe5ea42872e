import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { alternateRounds, quantile } from '../../local/statistics.ts';
import type { UpstreamFault } from '../baselines/faultyUpstream.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildCreateRequest, buildVideoRequest, listSpreadAccounts } from '../httpRequests.ts';
import type { OpenLoopResult } from '../load/openLoop.ts';
import { emptyRedis } from '../pipelineRounds.ts';
import type { Measurement } from '../report.ts';
import { seedDatabase } from '../seed.ts';
import { verifySums } from '../verify.ts';
import { countQueued, waitForSteadyState, waitForWorker } from '../waitForSteadyState.ts';

/** Decodes every video at once. */
const FAKE_FFMPEG = fileURLToPath(new URL('../../../test/fakes/ffmpeg.sh', import.meta.url));

const IMAGES_PER_SECOND = 20;
/** More videos than the upstream with the fault has slots, in each round. */
const VIDEOS_PER_SECOND = 100;
const VIDEOS_MS = 1_500;

const FAULTS = [
  ['submit hangs', 'isolationSubmit'],
  ['status hangs', 'isolationStatus'],
  ['file host hangs', 'isolationFileHost'],
  ['slow file of 500 MB', 'isolationSlowFile'],
] as const satisfies [UpstreamFault, string][];

/**
 * Measures how long generations of one upstream take from create to end, in turn while another upstream has a fault and
 * more generations than slots, and alone.
 */
export async function measureUpstreamIsolation(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, upstreamIsolation } = environment.options;
  const { url, client } = await environment.database('bench_upstream_isolation');
  await seedDatabase(client, { accounts, hotRows: 0, rowsPerAccount: 0 });
  const healthy = await environment.child('./baselines/timedUpstream.ts', url);
  const faulty = await environment.child('./baselines/faultyUpstream.ts', url);
  const upstreams = { faulty: { adapter: 'fal', base_url: await faulty.call<string>('base'), key: 'bench' } };
  const env = {
    FAL_BASE_URL: await healthy.call<string>('base'),
    FAL_KEY: 'bench',
    VIDEO_UPSTREAM: 'faulty:some/video',
    UPSTREAMS: JSON.stringify({ upstreams }),
    // Thumbnails of videos take a second of the processor each, once the fault has ended.
    MEDIA_FFMPEG_PATH: FAKE_FFMPEG,
  };
  const api = await environment.api(url, env);
  const worker = await environment.worker(url, env);
  await waitForWorker(client);
  const http = await environment.child('./load/httpLoad.ts', url);
  const spread = listSpreadAccounts(accounts);
  for (const [name, build] of [
    ['image', buildCreateRequest],
    ['video', buildVideoRequest],
  ] as const)
    await http.call('prepare', {
      name,
      port: api.port,
      expect: 201,
      requests: spread.map((account) => build(account)),
    });
  let created = 0;

  async function send(name: string, rate: number, durationMs: number): Promise<void> {
    created += (await http.call<OpenLoopResult>('runOpen', name, rate, durationMs)).sent;
  }

  async function runRound(fault: UpstreamFault | null): Promise<number[]> {
    await faulty.call('setFault', fault);
    await client.query(SET_MODELS_ONLINE);
    if (fault !== null) await send('video', VIDEOS_PER_SECOND, VIDEOS_MS);
    const startedAt = new Date();
    await send('image', IMAGES_PER_SECOND, upstreamIsolation.roundMs);
    await waitForSteadyState(async () => (await countQueuedImages(client)) === 0);
    await faulty.call('setFault', null);
    await waitForSteadyState(async () => (await countQueued(client)) === 0);
    return readTimes(client, startedAt);
  }

  const measurements: Measurement[] = [];
  await runRound(null);
  for (const [fault, target] of FAULTS) {
    const { a, b } = await alternateRounds(
      upstreamIsolation.rounds,
      () => runRound(fault),
      () => runRound(null),
    );
    const [beside, alone] = [a.flat(), b.flat()];
    measurements.push({
      target,
      value: quantile(beside, 0.99) / quantile(alone, 0.99),
      parts: {
        'median ratio': quantile(beside, 0.5) / quantile(alone, 0.5),
        'p50 / p99 ms': `${quantile(beside, 0.5).toFixed(0)} / ${quantile(beside, 0.99).toFixed(0)}`,
        without: `${quantile(alone, 0.5).toFixed(0)} / ${quantile(alone, 0.99).toFixed(0)}`,
        generations: beside.length,
      },
    });
  }
  await verifySums(client, created);
  await Promise.all([api, worker, http, healthy, faulty].map((process) => process.end()));
  await emptyRedis(environment);
  return measurements;
}

/** The end of the connections in the round before looks like failed submits and probes. */
const SET_MODELS_ONLINE = `
  UPDATE upstream_health SET status = 'online', consecutive_failures = 0, consecutive_successes = 2, probed_at = now(),
                             circuit_open_until = NULL`;

async function countQueuedImages(client: Client): Promise<number> {
  const { rows } = await client.query<{ queued: number }>(
    `SELECT count(*)::int AS queued FROM generations WHERE status = 'queued' AND model = 'imgmodel-2'`,
  );
  return rows[0]!.queued;
}

/** @throws Error if an image has not succeeded. */
async function readTimes(client: Client, startedAt: Date): Promise<number[]> {
  const { rows } = await client.query<{ status: string; ms: number }>(
    `SELECT status, 1000 * extract(epoch FROM completed_at - created_at)::float8 AS ms
       FROM generations WHERE created_at >= $1 AND model = 'imgmodel-2'`,
    [startedAt],
  );
  const failed = rows.filter(({ status }) => status !== 'succeeded').length;
  if (failed > 0) throw new Error(`${failed} images have failed.`);
  return rows.map(({ ms }) => ms);
}
