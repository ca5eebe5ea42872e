import type { BenchChild } from '../childProcess.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { PreparedRequests } from '../load/httpLoad.ts';
import type { Measurement } from '../report.ts';
import { buildGetRequest } from '../httpRequests.ts';
import { seedDatabase } from '../seed.ts';
import type { BenchEnvironment } from '../environment.ts';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import { medianMicroseconds, withProcessorTime } from '../processUsage.ts';

const CLIENTS = 32;

/** Measures reads of succeeded generations by API key, against bare Koa with one prepared select by primary key. */
export async function measureReads(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, rounds, roundMs } = environment.options;
  const { url, client } = await environment.database('bench_read');
  await seedDatabase(client, { accounts, hotRows: 10, rowsPerAccount: 10 });
  const api = await environment.api(url);
  const http = await environment.child('./load/httpLoad.ts', url);
  const bareKoa = await environment.child('./baselines/bareKoa.ts', url);
  const { rows } = await client.query<{ uuid: string; account: string }>(
    `SELECT uuid, account_id AS account FROM generations WHERE status = 'succeeded' ORDER BY md5(uuid::text) LIMIT 4000`,
  );
  const requestsTo = (folder: string) =>
    rows.map(({ uuid, account }) => buildGetRequest(Number(account), `${folder}/${uuid}`));
  await prepare(http, { name: 'api', port: api.port, expect: 200, requests: requestsTo('/api/generations') });
  const barePort = await bareKoa.call<number>('port');
  await prepare(http, { name: 'bare', port: barePort, expect: 200, requests: requestsTo('/read') });

  const run = (name: string) => http.call<LoopResult>('run', name, CLIENTS, roundMs);
  await run('api');
  await run('bare');
  const processes = { api: api.pid, postgres: environment.postgres.pid, client: http.pid };
  const { a, b } = await alternateRounds(
    rounds,
    () =>
      withProcessorTime(
        processes,
        () => run('api'),
        ({ done }) => done,
      ),
    () => run('bare'),
  );
  await Promise.all([api.end(), http.end(), bareKoa.end()]);
  const perSecond = { a: a.map(({ result }) => result.perSecond), b: b.map((result) => result.perSecond) };
  const parts = { 'service/s': median(perSecond.a), 'bare/s': median(perSecond.b), clients: CLIENTS };
  return [
    {
      target: 'read',
      value: medianRatio(perSecond),
      parts: { ...parts, ...medianMicroseconds(a) },
    },
  ];
}

async function prepare(http: BenchChild, requests: PreparedRequests): Promise<void> {
  await http.call('prepare', requests);
}
