import { fileURLToPath } from 'node:url';
import type { Upstream, UpstreamFault } from '../baselines/upstream.ts';
import type { Bench } from '../bench.ts';
import type { Figures, Round } from '../figure.ts';
import { buildCreate, buildCreates, listSpreadAccounts, VIDEO } from '../httpRequests.ts';
import { countRows, verifyCount } from '../verify.ts';
import { countQueued, waitForSteadyState, waitForWorker } from './pipeline.ts';

/** Decodes every video at once: thumbnails of videos take a second of the processor each, once the fault has ended. */
const FAKE_FFMPEG = fileURLToPath(new URL('../../../test/fakes/ffmpeg.sh', import.meta.url));

const IMAGES_PER_SECOND = 20;
/** More videos than the upstream with the fault has slots, in each round. */
const VIDEOS_PER_SECOND = 100;
const VIDEOS_MS = 1_500;

const FAULTS: [UpstreamFault, string][] = [
  ['submit hangs', 'submits hang'],
  ['status hangs', 'polls hang'],
  ['file host hangs', 'the file host hangs'],
  ['slow file of 500 MB', 'files of 500 MB are slow'],
];

/** The end of the connections in the round before looks like failed submits and probes. */
const SET_MODELS_ONLINE = `
  UPDATE upstream_health SET status = 'online', consecutive_failures = 0, consecutive_successes = 2, probed_at = now(),
                             circuit_open_until = NULL`;

/**
 * Measures how long generations of one upstream take from create to end, in turn while another upstream has a fault and
 * more generations than slots, and alone.
 */
export async function* measure(bench: Bench): Figures {
  const { accounts, upstreamIsolation } = bench.options;
  const { url, client, verify } = await bench.seed('upstream_isolation');
  const healthy = await bench.child<Upstream>('baselines/upstream.ts', url);
  const faulty = await bench.child<Upstream>('baselines/upstream.ts', url);
  const upstreams = { faulty: { adapter: 'fal', base_url: await faulty.start(), key: 'bench' } };
  const env = {
    FAL_BASE_URL: await healthy.start(300, 3_000),
    FAL_KEY: 'bench',
    VIDEO_UPSTREAM: 'faulty:some/video',
    UPSTREAMS: JSON.stringify({ upstreams }),
    MEDIA_FFMPEG_PATH: FAKE_FFMPEG,
  };
  const api = await bench.api(url, env);
  bench.worker(url, env);
  await waitForWorker(client);
  const http = await bench.http();
  const videos = listSpreadAccounts(accounts).map((account) => buildCreate(account, undefined, undefined, VIDEO));
  await http.prepare({ name: 'image', port: api.port, expect: 201, requests: buildCreates(accounts) });
  await http.prepare({ name: 'video', port: api.port, expect: 201, requests: videos });

  async function runRound(fault: UpstreamFault | null): Promise<Round> {
    await faulty.setFault(fault);
    await client.query(SET_MODELS_ONLINE);
    if (fault !== null) await http.runAtRate('video', VIDEOS_PER_SECOND, VIDEOS_MS);
    const startedAt = new Date();
    const { done } = await http.runAtRate('image', IMAGES_PER_SECOND, upstreamIsolation.roundMs);
    const queued = `generations WHERE status = 'queued' AND model = 'imgmodel-2'`;
    await waitForSteadyState(async () => (await countRows(client, queued)) === 0);
    await faulty.setFault(null);
    await waitForSteadyState(async () => (await countQueued(client)) === 0);
    const { rows } = await client.query<{ ms: number }>(
      `SELECT 1000 * extract(epoch FROM completed_at - created_at)::float8 AS ms
         FROM generations WHERE created_at >= $1 AND model = 'imgmodel-2' AND status = 'succeeded'`,
      [startedAt],
    );
    verifyCount('images that succeeded', rows.length, done);
    return { done, ms: rows.map(({ ms }) => ms) };
  }

  await runRound(null);
  for (const [fault, description] of FAULTS)
    yield {
      name: `create to end at one upstream, p99, while at another one ${description} : without`,
      ours: () => runRound(fault),
      bare: () => runRound(null),
      by: 'p99 ms',
      target: [1.1, 1.1],
      rounds: upstreamIsolation.rounds,
      isWarm: true,
      isPooled: true,
    };
  await verify(await http.countCreated());
}
