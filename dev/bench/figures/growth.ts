import type { Client } from 'pg';
import { PAGE_SIZE } from '../../../shared/spec/limits.ts';
import type { Child } from '../child.ts';
import type { Measurement } from '../report.ts';
import { createRequest, getRequest } from '../requests.ts';
import { deleteSome, emailOf, HOT_ACCOUNT, seed } from '../seed.ts';
import type { Api, Stage } from '../stage.ts';
import { median } from '../statistics.ts';
import type { TargetName } from '../targets.ts';
import { verifySums } from '../verify.ts';

interface Side {
  name: string;
  rows: number;
  client: Client;
  api: Api;
}

/**
 * How much longer requests take with a hundred times the rows. Two databases side by side with an API each, and one
 * request to the one and one to the other in turn. In the large database one account holds half of the rows; in the
 * small one all of them, as page 500 would not exist otherwise.
 */
export async function measureGrowth(stage: Stage): Promise<Measurement[]> {
  const { small, large, requests } = stage.options.growth;
  const others = stage.options.accounts - 1;
  const rowsEach = Math.floor(large / 2 / others);
  const sides = [
    await sideOf(stage, 'bench_small', { hotRows: small, rowsEach: 0 }),
    await sideOf(stage, 'bench_large', { hotRows: large - others * rowsEach, rowsEach }),
  ];
  const http = await stage.child('./load/http.ts', stage.postgres.url);
  const middle = small / PAGE_SIZE;
  const compare = (request: string, expect = 200) => compareSides(http, sides, request, expect, requests);

  const measured: [TargetName, string, number?][] = [
    ['growthFirst', get('/api/generations/')],
    ['growthMiddle', get(`/api/generations/?page=${middle}`)],
    ['growthLedger', get('/api/ledger/')],
    ['growthUsage', get('/api/usage/summary/')],
    ['growthStaff', get('/api/admin/metrics/')],
    ['growthCreate', createRequest(HOT_ACCOUNT), 201],
  ];
  const measurements: Measurement[] = [];
  for (const [target, request, expect] of measured) measurements.push({ target, ...(await compare(request, expect)) });
  for (const { client } of sides) await deleteSome(client);
  const deletions = await compare(get(`/api/generations/?page=${middle - middle / 10}`));
  measurements.push({ title: `growth: list, page ${middle - middle / 10}, 5 % deleted`, ...deletions });
  const last = await compare(get(`/api/generations/?page=1000000`));
  measurements.push({ title: 'growth: list, a page past the end', ...last });
  await Promise.all([...sides.map(({ api }) => api.end()), http.end()]);
  return measurements;
}

function get(path: string): string {
  return getRequest(HOT_ACCOUNT, path);
}

async function sideOf(stage: Stage, name: string, rows: { hotRows: number; rowsEach: number }): Promise<Side> {
  const { accounts } = stage.options;
  const inAll = rows.hotRows + (accounts - 1) * rows.rowsEach;
  const { url, client } = await stage.database(name);
  await seed(client, { accounts, ...rows });
  await verifySums(client, inAll);
  return { name, rows: inAll, client, api: await stage.api(url, { STAFF_EMAILS: emailOf(HOT_ACCOUNT) }) };
}

async function compareSides(
  http: Child,
  sides: Side[],
  request: string,
  expect: number,
  times: number,
): Promise<Pick<Measurement, 'value' | 'parts'>> {
  for (const { name, api } of sides) {
    await http.ask('prepare', { name, port: api.port, expect, requests: [request] });
  }
  const names = sides.map(({ name }) => name);
  // To have the code warm, and each connection of the pools the statement prepared and its plan settled.
  await http.ask('alternate', names, Math.ceil(times / 3));
  const latencies = await http.ask<number[][]>('alternate', names, times);
  const medians = latencies.map(median);
  const parts = sides.map(({ rows }, index) => [`ms at ${rows.toLocaleString('en-US')}`, medians[index]]);
  return { value: medians[1]! / medians[0]!, parts: Object.fromEntries(parts) as Record<string, number> };
}
