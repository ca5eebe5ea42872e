import type { Child } from '../child.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Requests } from '../load/http.ts';
import type { Measurement } from '../report.ts';
import { getRequest } from '../requests.ts';
import { seed } from '../seed.ts';
import type { Stage } from '../stage.ts';
import { inTurn, median, ratioOf } from '../statistics.ts';
import { medianMicroseconds, withProcessorTime } from '../usage.ts';

const CLIENTS = 32;

/** Reads of succeeded generations by API key, against bare Koa with one prepared select by primary key. */
export async function measureReads(stage: Stage): Promise<Measurement[]> {
  const { accounts, rounds, roundMs } = stage.options;
  const { url, client } = await stage.database('bench_read');
  await seed(client, { accounts, hotRows: 10, rowsEach: 10 });
  const api = await stage.api(url);
  const http = await stage.child('./load/http.ts', url);
  const bareKoa = await stage.child('./standins/bareKoa.ts', url);
  const { rows } = await client.query<{ uuid: string; account: string }>(
    `SELECT uuid, account_id AS account FROM generations WHERE status = 'succeeded' ORDER BY md5(uuid::text) LIMIT 4000`,
  );
  const requestsTo = (folder: string) =>
    rows.map(({ uuid, account }) => getRequest(Number(account), `${folder}/${uuid}`));
  await prepare(http, { name: 'api', port: api.port, expect: 200, requests: requestsTo('/api/generations') });
  const barePort = await bareKoa.ask<number>('port');
  await prepare(http, { name: 'bare', port: barePort, expect: 200, requests: requestsTo('/read') });

  const run = (name: string) => http.ask<LoopResult>('run', name, CLIENTS, roundMs);
  await run('api');
  await run('bare');
  const processes = { api: api.pid, postgres: stage.postgres.pid, client: http.pid };
  const { a, b } = await inTurn(
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
      value: ratioOf(perSecond),
      parts: { ...parts, ...medianMicroseconds(a) },
    },
  ];
}

async function prepare(http: Child, requests: Requests): Promise<void> {
  await http.ask('prepare', requests);
}
