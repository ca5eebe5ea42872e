import type { Client } from 'pg';
import { alternateRounds, median, medianRatio, quantile } from '../../local/statistics.ts';
import type { BenchChild } from '../childProcess.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildCreateRequest, buildGetRequest, listSpreadAccounts } from '../httpRequests.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { PreparedRequests } from '../load/httpLoad.ts';
import type { OpenLoopResult } from '../load/openLoop.ts';
import { emptyRedis } from '../pipelineRounds.ts';
import { formatQuantiles, type Measurement } from '../report.ts';
import { seedDatabase } from '../seed.ts';
import type { TargetName } from '../targets.ts';
import { verifySums } from '../verify.ts';

/** Clients of the closed loop that finds the capacity. */
const CLIENTS = 128;
/** As many as the creates of a run fill. */
const WAL_FILES = 150;
/** Generations of each account: more than a page. */
const ROWS_PER_ACCOUNT = 30;

/** Shares of the lower capacity at which requests are sent, with the figure of the larger one. */
const SHARES = [0.5, 0.8] as const;
const OPERATIONS = { create: 'loadCreate', read: 'loadRead', list: 'loadList' } as const satisfies Record<
  string,
  TargetName
>;
type Operation = keyof typeof OPERATIONS;

interface LoadFixture {
  environment: BenchEnvironment;
  http: BenchChild;
  /** Accepted creates of both sides. */
  created: number;
}

/**
 * Measures the latencies of creates, reads and lists beside bare Koa with one statement, both at the same rate: half and four
 * fifths of the lower one of their capacities. Requests are sent at a constant rate, and latency counts from when a request
 * was to be sent: while the service stalls, requests that it delays count.
 */
export async function measureLoad(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts } = environment.options;
  const { url, client } = await environment.database('bench_load');
  await seedDatabase(client, { accounts, hotRows: ROWS_PER_ACCOUNT, rowsPerAccount: ROWS_PER_ACCOUNT });
  await createWalFiles(client);
  const api = await environment.api(url);
  const bareKoa = await environment.child('./baselines/bareKoa.ts', url);
  const http = await environment.child('./load/httpLoad.ts', url);
  // The bare server has created one generation to capture the statement.
  const fixture: LoadFixture = { environment, http, created: 1 };
  const ports = { service: api.port, bare: await bareKoa.call<number>('port') };
  const requests = await buildRequests(client, listSpreadAccounts(accounts));
  for (const [name, prepared] of Object.entries(requests)) {
    for (const side of ['service', 'bare'] as const)
      await http.call('prepare', { ...prepared[side], name: `${side} ${name}`, port: ports[side] });
  }
  const measurements: Measurement[] = [];
  for (const name of Object.keys(OPERATIONS) as Operation[])
    measurements.push(...(await measureOperation(fixture, name)));
  await verifySums(client, accounts * ROWS_PER_ACCOUNT + fixture.created);
  await Promise.all([api.end(), bareKoa.end(), http.end()]);
  await emptyRedis(environment);
  return measurements;
}

/**
 * Creates WAL files, which the checkpoint then makes available for reuse, as in a database that has been in operation.
 * To create one takes up to 50 ms, during which nothing commits, and both sides would do so after every 16 MB.
 */
async function createWalFiles(client: Client): Promise<void> {
  for (let file = 0; file < WAL_FILES; file += 1) {
    await client.query(`SELECT pg_logical_emit_message(false, 'bench', 'next file')`);
    await client.query('SELECT pg_switch_wal()');
  }
  await client.query('CHECKPOINT');
}

type OperationRequests = Record<'service' | 'bare', Pick<PreparedRequests, 'expect' | 'requests'>>;

async function buildRequests(client: Client, accounts: number[]): Promise<Record<Operation, OperationRequests>> {
  const { rows } = await client.query<{ uuid: string; account: string }>(
    `SELECT uuid, account_id AS account FROM generations ORDER BY md5(uuid::text) LIMIT 4000`,
  );
  const readFrom = (folder: string) =>
    rows.map(({ uuid, account }) => buildGetRequest(Number(account), `${folder}/${uuid}`));
  return {
    create: toRequests(
      201,
      accounts.map((account) => buildCreateRequest(account)),
      accounts.map((account) => buildCreateRequest(account, `/charge/${account}`)),
    ),
    read: toRequests(200, readFrom('/api/generations'), readFrom('/read')),
    list: toRequests(
      200,
      accounts.map((account) => buildGetRequest(account, '/api/generations/')),
      accounts.map((account) => buildGetRequest(account, `/list/${account}`)),
    ),
  };
}

function toRequests(expect: number, service: string[], bare: string[]): OperationRequests {
  return { service: { expect, requests: service }, bare: { expect, requests: bare } };
}

type Side = 'service' | 'bare';

async function measureOperation(fixture: LoadFixture, name: Operation): Promise<Measurement[]> {
  // The first round of each runs cold code.
  await findCapacity(fixture, 'service', name);
  await findCapacity(fixture, 'bare', name);
  const capacities = await alternateRounds(
    fixture.environment.options.load.rounds,
    () => findCapacity(fixture, 'service', name),
    () => findCapacity(fixture, 'bare', name),
  );
  const [service, bare] = [median(capacities.a), median(capacities.b)];
  const measurements: Measurement[] = [];
  for (const share of SHARES) {
    const perSecond = share * Math.min(service, bare);
    const compared = await compareLatencies(fixture, name, perSecond);
    const isLast = share === SHARES.at(-1);
    measurements.push({
      ...(isLast ? { target: OPERATIONS[name] } : { title: `${name} at ${100 * share} %, p99` }),
      value: compared.value,
      parts: { ...compared.parts, 'per s': perSecond, 'capacity per s': service, 'bare capacity per s': bare },
    });
  }
  return measurements;
}

async function findCapacity(fixture: LoadFixture, side: Side, name: Operation): Promise<number> {
  const { http, environment } = fixture;
  const { capacityMs } = environment.options.load;
  const { done, perSecond } = await http.call<LoopResult>('run', `${side} ${name}`, CLIENTS, capacityMs);
  if (name === 'create') fixture.created += done;
  return perSecond;
}

async function compareLatencies(
  fixture: LoadFixture,
  name: Operation,
  perSecond: number,
): Promise<Pick<Measurement, 'value' | 'parts'>> {
  const { rounds, loadMs } = fixture.environment.options.load;
  const run = (side: Side) => async () => {
    const { sent, latenciesMs } = await fixture.http.call<OpenLoopResult>(
      'runOpen',
      `${side} ${name}`,
      perSecond,
      loadMs,
    );
    if (name === 'create') fixture.created += sent;
    return latenciesMs;
  };
  const { a, b } = await alternateRounds(rounds, run('service'), run('bare'));
  return {
    value: medianRatio({ a: getQuantiles(a, 0.99), b: getQuantiles(b, 0.99) }),
    parts: { 'p50 / p99 / p99.9 ms': formatMedians(a), bare: formatMedians(b) },
  };
}

const getQuantiles = (rounds: number[][], of: number): number[] =>
  rounds.map((latenciesMs) => quantile(latenciesMs, of));

const formatMedians = (rounds: number[][]): string => formatQuantiles((of) => median(getQuantiles(rounds, of)));
