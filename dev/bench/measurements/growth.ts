import type { Client } from 'pg';
import { PAGE_SIZE } from '../../../shared/spec/limits.ts';
import type { BenchChild } from '../childProcess.ts';
import type { Measurement } from '../report.ts';
import { buildCreateRequest, buildGetRequest } from '../httpRequests.ts';
import { deleteSomeGenerations, getAccountEmail, HOT_ACCOUNT, type Seed, seedDatabase } from '../seed.ts';
import type { BenchApi, BenchEnvironment } from '../environment.ts';
import { median } from '../../local/statistics.ts';
import type { TargetName } from '../targets.ts';
import { verifySums } from '../verify.ts';

/** A seeded database with an API of its own. */
export interface BenchDatabase {
  name: string;
  url: string;
  /** Identifies the database in the report. */
  label: string;
  client: Client;
  api: BenchApi;
}

/**
 * Measures how much longer requests take with a hundred times the rows. Two databases run side by side with an API
 * each, and requests alternate between them. In the large database one account owns half of the rows; in the small one
 * it owns all, since page 500 would not exist otherwise.
 */
export async function measureGrowth(environment: BenchEnvironment): Promise<Measurement[]> {
  const { small, large, requests } = environment.options.growth;
  const others = environment.options.accounts - 1;
  const rowsPerAccount = Math.floor(large / 2 / others);
  const databases = [
    await prepareDatabase(environment, 'bench_small', { hotRows: small, rowsPerAccount: 0 }),
    await prepareDatabase(environment, 'bench_large', { hotRows: large - others * rowsPerAccount, rowsPerAccount }),
  ];
  const http = await environment.child('./load/httpLoad.ts', environment.postgres.url);
  const middle = small / PAGE_SIZE;
  const compare = (request: string, expect = 200) => compareDatabases(http, databases, [request], expect, requests);

  const measured: [TargetName, string, number?][] = [
    ['growthFirst', buildHotGetRequest('/api/generations/')],
    ['growthMiddle', buildHotGetRequest(`/api/generations/?page=${middle}`)],
    ['growthLedger', buildHotGetRequest('/api/ledger/')],
    ['growthUsage', buildHotGetRequest('/api/usage/summary/')],
    ['growthStaff', buildHotGetRequest('/api/admin/metrics/')],
    ['growthCreate', buildCreateRequest(HOT_ACCOUNT), 201],
  ];
  const measurements: Measurement[] = [];
  for (const [target, request, expect] of measured) measurements.push({ target, ...(await compare(request, expect)) });
  // Up to 10,001 matches are counted: most of the small database, and as many of the large one.
  for (const path of ['/api/generations/?kind=image', '/api/ledger/?entry_type=burn']) {
    measurements.push({ title: `growth: ${path}`, ...(await compare(buildHotGetRequest(path))) });
  }
  for (const { client } of databases) await deleteSomeGenerations(client);
  const deletions = await compare(buildHotGetRequest(`/api/generations/?page=${middle - middle / 10}`));
  measurements.push({ title: `growth: list, page ${middle - middle / 10}, 5 % deleted`, ...deletions });
  const last = await compare(buildHotGetRequest(`/api/generations/?page=1000000`));
  measurements.push({ title: 'growth: list, a page past the end', ...last });
  await Promise.all([...databases.map(({ api }) => api.end()), http.end()]);
  return measurements;
}

function buildHotGetRequest(path: string): string {
  return buildGetRequest(HOT_ACCOUNT, path);
}

interface PrepareOptions {
  /** Changes the schema of the empty database. */
  beforeSeed?: (client: Client) => Promise<void>;
  /** Value of CATALOG; undefined for the default models. */
  catalog?: string;
}

/** Creates and seeds a database, and starts an API on it. */
export async function prepareDatabase(
  environment: BenchEnvironment,
  name: string,
  rows: Omit<Seed, 'accounts'>,
  { beforeSeed = async () => {}, catalog }: PrepareOptions = {},
): Promise<BenchDatabase> {
  const { accounts } = environment.options;
  const total = rows.hotRows + (accounts - 1) * rows.rowsPerAccount;
  const { url, client } = await environment.database(name);
  await beforeSeed(client);
  await seedDatabase(client, { accounts, ...rows });
  await verifySums(client, total);
  if (catalog !== undefined) await environment.release(url, catalog);
  const api = await environment.api(url, {
    STAFF_EMAILS: getAccountEmail(HOT_ACCOUNT),
    ...(catalog === undefined ? {} : { CATALOG: catalog }),
  });
  return { name, url, label: total.toLocaleString('en-US'), client, api };
}

/** Sends the same requests, in rotation, to two databases in turn. */
export async function compareDatabases(
  http: BenchChild,
  databases: BenchDatabase[],
  requests: string[],
  expect: number,
  times: number,
): Promise<Pick<Measurement, 'value' | 'parts'>> {
  for (const { name, api } of databases) {
    await http.call('prepare', { name, port: api.port, expect, requests });
  }
  const names = databases.map(({ name }) => name);
  // Warms up the code, and prepares the statements and plans on every connection of the pools.
  await http.call('alternate', names, Math.ceil(times / 3));
  const latencies = await http.call<number[][]>('alternate', names, times);
  const medians = latencies.map(median);
  const parts = databases.map(({ label }, index) => [`ms at ${label}`, medians[index]]);
  return { value: medians[1]! / medians[0]!, parts: Object.fromEntries(parts) as Record<string, number> };
}
