import { Redis } from 'ioredis';
import type { Client } from 'pg';
import type { BareKoa } from '../baselines/bareKoa.ts';
import { type Bench, REDIS_PREFIX } from '../bench.ts';
import type { BenchChild } from '../childProcess.ts';
import type { Figures } from '../figure.ts';
import { buildCreate, buildCreates, listSpreadAccounts } from '../httpRequests.ts';
import { readMemory } from '../processUsage.ts';
import { HOT_ACCOUNT, SPARE_ACCOUNT } from '../seed.ts';
import { verifyCount } from '../verify.ts';

/**
 * Measures creates over HTTP, with their dispatch enqueued and no worker, against the same statement run bare. All of
 * them are summed up at the end and looked up in the queue.
 */
export async function* measure(bench: Bench): Figures {
  const { accounts, only, roundMs } = bench.options;
  const { url, client, verify } = await bench.seed('create');
  const api = await bench.api(url);
  const bare = await bench.child<BareKoa>('baselines/bareKoa.ts', url);
  await bare.capture();
  const http = await bench.http();
  const spread = listSpreadAccounts(accounts);
  const common = { expect: 201, port: api.port };
  await http.prepare({ ...common, name: 'spread', requests: buildCreates(accounts) });
  await http.prepare({ ...common, name: 'hot', requests: [buildCreate(HOT_ACCOUNT)] });
  const bareRequests = spread.map((account) => buildCreate(account, `/charge/${account}`));
  await http.prepare({ ...common, name: 'bare', port: await bare.port(), requests: bareRequests });

  const request = (name: string, clients: number) => () =>
    bench.timed(name === 'bare' ? { koa: bare, client: http } : { api, client: http }, () =>
      http.run(name, clients, roundMs),
    );
  const execute = (connections: number, of: number[]) => () =>
    bench.timed({ client: bare }, () => bare.charge(connections, roundMs, of));
  if (only.includes('create')) {
    yield {
      name: 'create, 32 clients : bare statement',
      ours: request('spread', 32),
      bare: execute(32, spread),
      target: [0.6, 0.9],
    };
    const connections = await findFastestConnectionCount(bare, spread, roundMs);
    yield {
      name: `create, 128 clients : bare statement on ${connections} connections, the fastest of 32 to 128`,
      ours: request('spread', 128),
      bare: execute(connections, spread),
      target: [0.9, 1.15],
    };
  }
  if (only.includes('latency'))
    yield {
      name: 'create, 2 clients, median : bare Koa and statement',
      ours: request('spread', 2),
      bare: request('bare', 2),
      by: 'p50 ms',
      target: [2, 1.3],
    };
  if (only.includes('hot'))
    yield {
      name: 'create, one hot account : bare statement',
      ours: request('hot', 32),
      bare: execute(32, [HOT_ACCOUNT]),
      target: [0.5, 1],
    };
  yield {
    name: 'RSS of the API under load',
    ours: async () => readMemory(api.pid),
    by: 'peak MB',
    target: [150, 135],
  };
  await verify((await http.countCreated()) + (await bare.countCharged()));
  await verifyDispatches(bench.environment.redis.url, client, await http.countCreated(api.port));
}

/** More connections than the database has processors are not necessarily faster: the baseline uses the best count. */
async function findFastestConnectionCount(bare: BenchChild<BareKoa>, accounts: number[], ms: number): Promise<number> {
  const counts = [32, 64, 128];
  const rates: number[] = [];
  for (const count of counts) {
    await bare.charge(count, 200, accounts);
    rates.push((await bare.charge(count, ms, accounts))['per second']);
  }
  return counts[rates.indexOf(Math.max(...rates))]!;
}

/**
 * Checks that a waiting job names every generation of the API: a create without its dispatch is only half of a create.
 * @throws Error if the numbers differ.
 */
async function verifyDispatches(redisUrl: string, client: Client, byApi: number): Promise<void> {
  const { rows } = await client.query<{ uuid: string }>('SELECT uuid FROM generations WHERE account_id <> $1', [
    SPARE_ACCOUNT,
  ]);
  const redis = new Redis(redisUrl);
  const named = new Set<string>();
  // Independent of queue names: no worker has run, so that all jobs still exist.
  for (const job of await redis.keys(`{${REDIS_PREFIX}:*`)) {
    const data = (await redis.type(job)) === 'hash' ? await redis.hget(job, 'data') : null;
    for (const [uuid] of data?.matchAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []) named.add(uuid);
  }
  redis.disconnect();
  verifyCount('waiting dispatches', rows.filter(({ uuid }) => named.has(uuid)).length, byApi);
}
