import type { Client } from 'pg';
import { partitionByAccount } from '../../partitioning/partitionByAccount.ts';
import type { Bench } from '../bench.ts';
import type { Figures, Round } from '../figure.ts';
import { buildCreates, buildKeyGet, buildReads, listSpreadAccounts } from '../httpRequests.ts';
import type { ServiceCalls } from '../load/serviceCalls.ts';
import { type Side, startSides } from '../sides.ts';
import { verifyCount } from '../verify.ts';

const PARTITIONS = 16;
/** Two statements of a worker, which run at the same time. */
const COMPLETED_PER_ROUND = 128;

/** Measures requests and the completion of generations on partitioned and on whole tables with as many rows. */
export async function* measure(bench: Bench): Figures {
  const { accounts, growth, ledgerRows } = bench.options;
  const rowsPerAccount = Math.floor(growth.large / accounts);
  // Entries of each account in addition to a grant and its burns, an even number.
  const history = ledgerRows === undefined ? 0 : Math.floor((ledgerRows / accounts - 1 - rowsPerAccount) / 2);
  const rows = { hotRows: rowsPerAccount, rowsPerAccount, ledgerHistory: 2 * Math.max(0, history) };
  const beforeSeed = (client: Client) => partitionByAccount(client, PARTITIONS);
  const sides = await startSides(bench, 'partitioned', { ...rows, beforeSeed }, rows);
  for (const { client } of sides.all) bench.log(await describeLedger(client));
  const compare = (name: string, requests: string[] | ((side: Side) => Promise<string[]>), expect = 200, clients = 1) =>
    sides.compare({ name: `${PARTITIONS} partitions : whole tables, ${name}`, requests, expect, clients });
  const get = (path: string) => listSpreadAccounts(accounts).map((account) => buildKeyGet(account, path));
  yield compare('create', buildCreates(accounts), 201);
  yield compare('create, 32 clients', buildCreates(accounts), 201, 32);
  yield compare('list, page 1', get('/api/generations/'));
  yield compare('ledger, page 1', get('/api/ledger/'));
  yield compare('usage summary', get('/api/usage/summary/'));
  yield compare('read by key', ({ client }) => buildReads(client, '/api/generations'));
  yield {
    name: `${PARTITIONS} partitions : whole tables, completions`,
    ours: await prepareCompletions(bench, sides.ours),
    bare: await prepareCompletions(bench, sides.bare),
  };
  await sides.verify();
}

async function describeLedger(client: Client): Promise<string> {
  const { rows } = await client.query<{ entries: string; database: string }>(
    `SELECT sum(ledger_count) AS entries, pg_size_pretty(pg_database_size(current_database())) AS database FROM accounts`,
  );
  return `${Number(rows[0]!.entries).toLocaleString('en-US')} ledger entries, ${rows[0]!.database}`;
}

/** Completes generations that the create load has queued: no worker runs. */
async function prepareCompletions(bench: Bench, { client, url }: Side): Promise<() => Promise<Round>> {
  const service = await bench.child<ServiceCalls>('load/serviceCalls.ts', url);
  return async () => {
    const { rows } = await client.query<{ uuid: string; account_id: string }>(
      `SELECT uuid, account_id FROM generations WHERE status = 'queued' ORDER BY uuid LIMIT ${COMPLETED_PER_ROUND}`,
    );
    const generations = rows.map(({ uuid, account_id }) => ({ uuid, account_id: Number(account_id) }));
    const { completed, ms } = await service.complete(generations);
    verifyCount('completed generations', completed, COMPLETED_PER_ROUND);
    return { 'per second': (1_000 * completed) / ms };
  };
}
