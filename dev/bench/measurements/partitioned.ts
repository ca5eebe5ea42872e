import type { Client } from 'pg';
import { median } from '../../local/statistics.ts';
import { partitionByAccount } from '../../partitioning/partitionByAccount.ts';
import type { BenchChild } from '../childProcess.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildCreateRequest, buildGetRequest, listSpreadAccounts } from '../httpRequests.ts';
import type { Measurement } from '../report.ts';
import { verifySums } from '../verify.ts';
import { type BenchDatabase, compareDatabases, prepareDatabase } from './growth.ts';

const PARTITIONS = 16;
/** Two statements of a worker, which run at the same time. */
const SETTLED_PER_ROUND = 128;

/**
 * Measures the same requests and the completion of generations on whole and on partitioned tables with as many rows.
 * The two databases run side by side with an API each, and the load alternates between them.
 */
export async function measurePartitioned(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, growth, rounds, ledgerRows } = environment.options;
  const rowsPerAccount = Math.floor(growth.large / accounts);
  const rows = {
    hotRows: rowsPerAccount,
    rowsPerAccount,
    ledgerHistory: getLedgerHistory(ledgerRows, accounts, rowsPerAccount),
  };
  const databases: BenchDatabase[] = [
    { ...(await prepareDatabase(environment, 'bench_whole', rows)), label: 'whole tables' },
    {
      ...(await prepareDatabase(environment, 'bench_partitioned', rows, {
        beforeSeed: (client) => partitionByAccount(client, PARTITIONS),
      })),
      label: `${PARTITIONS} partitions`,
    },
  ];
  for (const { client, label } of databases) environment.log(`${label}: ${await describeLedger(client)}`);
  const http = await environment.child('./load/httpLoad.ts', environment.postgres.url);
  const spread = listSpreadAccounts(accounts);
  const compare = async (title: string, requests: string[], expect = 200): Promise<Measurement> => ({
    title: `partitioned: ${title}`,
    ...(await compareDatabases(http, databases, requests, expect, growth.requests)),
  });
  const measurements = [
    await compare(
      'create',
      spread.map((account) => buildCreateRequest(account)),
      201,
    ),
    await compare(
      'list, page 1',
      spread.map((account) => buildGetRequest(account, '/api/generations/')),
    ),
    await compare(
      'ledger, page 1',
      spread.map((account) => buildGetRequest(account, '/api/ledger/')),
    ),
    await compare(
      'usage summary',
      spread.map((account) => buildGetRequest(account, '/api/usage/summary/')),
    ),
    await compareReads(environment, http, databases),
    await compareSettlement(environment, databases, rounds),
  ];
  for (const { client } of databases) {
    const { rows: counted } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM generations');
    await verifySums(client, counted[0]!.count);
  }
  await Promise.all([...databases.map(({ api }) => api.end()), http.end()]);
  return measurements;
}

/** @returns the entries of each account in addition to a grant and its burns, an even number. */
function getLedgerHistory(ledgerRows: number | undefined, accounts: number, rowsPerAccount: number): number {
  if (ledgerRows === undefined) return 0;
  return 2 * Math.max(0, Math.floor((ledgerRows / accounts - 1 - rowsPerAccount) / 2));
}

async function describeLedger(client: Client): Promise<string> {
  const { rows } = await client.query<{ entries: string; database: string }>(
    `SELECT sum(ledger_count) AS entries, pg_size_pretty(pg_database_size(current_database())) AS database FROM accounts`,
  );
  return `${Number(rows[0]!.entries).toLocaleString('en-US')} ledger entries, ${rows[0]!.database}`;
}

/** Reads generations that exist on one side only, so each side has its own requests. */
async function compareReads(
  { options }: BenchEnvironment,
  http: BenchChild,
  databases: BenchDatabase[],
): Promise<Measurement> {
  for (const { name, api, client } of databases) {
    const { rows } = await client.query<{ uuid: string; account_id: string }>(
      `SELECT uuid, account_id FROM generations WHERE status = 'succeeded' AND (account_id + number) % 97 = 0 ORDER BY uuid LIMIT 1000`,
    );
    const requests = rows.map((row) => buildGetRequest(Number(row.account_id), `/api/generations/${row.uuid}/`));
    await http.call('prepare', { name, port: api.port, expect: 200, requests });
  }
  const names = databases.map(({ name }) => name);
  await http.call('alternate', names, Math.ceil(options.growth.requests / 3));
  const latencies = await http.call<number[][]>('alternate', names, options.growth.requests);
  return toMeasurement('read by key', databases, latencies.map(median), 'ms');
}

/** Completes generations that the create load has queued: no worker runs. */
async function compareSettlement(
  environment: BenchEnvironment,
  databases: BenchDatabase[],
  rounds: number,
): Promise<Measurement> {
  const perSecond: number[][] = databases.map(() => []);
  const children = await Promise.all(databases.map(({ url }) => environment.child('./load/settle.ts', url)));
  // The first round plans the statement on both connections, and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { client }] of databases.entries()) {
      const { rows } = await client.query<{ uuid: string; account_id: string }>(
        `SELECT uuid, account_id FROM generations WHERE status = 'queued' ORDER BY uuid LIMIT ${SETTLED_PER_ROUND}`,
      );
      if (rows.length < SETTLED_PER_ROUND) continue;
      const generations = rows.map((row) => ({ uuid: row.uuid, account_id: Number(row.account_id) }));
      const settled = await children[index]!.call<{ completed: number; ms: number }>('settle', generations);
      if (settled.completed !== rows.length) throw new Error(`${settled.completed} of ${rows.length} were completed.`);
      if (round > 0) perSecond[index]!.push((1_000 * rows.length) / settled.ms);
    }
  }
  await Promise.all(children.map((child) => child.end()));
  return toMeasurement('completions', databases, perSecond.map(median), 'per second');
}

function toMeasurement(title: string, databases: BenchDatabase[], values: number[], unit: string): Measurement {
  const parts = databases.map(({ label }, index) => [`${unit}, ${label}`, values[index]]);
  return {
    title: `partitioned: ${title}`,
    value: values[1]! / values[0]!,
    parts: Object.fromEntries(parts) as Record<string, number>,
  };
}
