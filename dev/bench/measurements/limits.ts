import type { Client } from 'pg';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildCreateRequest, listSpreadAccounts } from '../httpRequests.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Measurement } from '../report.ts';
import { SPARE_ACCOUNT } from '../seed.ts';
import { verifySums } from '../verify.ts';
import { compareDatabases, prepareDatabase } from './growth.ts';

const CLIENTS = 32;

/**
 * Measures creates by API keys with a daily spending limit against creates by keys without one: the time of single
 * requests, which alternate between two databases with an API each, and requests per second in alternating rounds.
 */
export async function measureLimits(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, growth, rounds, roundMs } = environment.options;
  const rows = { hotRows: 0, rowsPerAccount: 0 };
  const without = { ...(await prepareDatabase(environment, 'bench_without_limits', rows)), label: 'no limit' };
  const limited = { ...(await prepareDatabase(environment, 'bench_limits', rows)), label: 'a limit' };
  await seedLimits(limited.client);
  const http = await environment.child('./load/httpLoad.ts', environment.postgres.url);
  const requests = listSpreadAccounts(accounts).map((account) => buildCreateRequest(account));
  const compared = await compareDatabases(http, [without, limited], requests, 201, growth.requests);

  const run = (name: string) => http.call<LoopResult>('run', name, CLIENTS, roundMs);
  await run(limited.name);
  await run(without.name);
  const { a, b } = await alternateRounds(
    rounds,
    () => run(limited.name),
    () => run(without.name),
  );
  for (const { client } of [without, limited]) {
    const { rows: counted } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM generations');
    await verifySums(client, counted[0]!.count);
  }
  await verifyUsedOfLimits(limited.client);
  await Promise.all([without.api.end(), limited.api.end(), http.end()]);
  const perSecond = { a: a.map((result) => result.perSecond), b: b.map((result) => result.perSecond) };
  const parts = { 'with/s': median(perSecond.a), 'without/s': median(perSecond.b), clients: CLIENTS };
  return [
    { target: 'limitLatency', ...compared },
    { target: 'limitThroughput', value: medianRatio(perSecond), parts },
  ];
}

/** Gives the key of each account a daily limit that it does not reach. */
export async function seedLimits(client: Client): Promise<void> {
  await client.query(
    `INSERT INTO spending_limits (account_id, number, key_number, credits, period, window_start,
                                  generation_count_at_window_start, used, created_at, updated_at)
     SELECT id, 1, 1, 1000000000, 'day', date_trunc('day', now(), 'UTC'), generation_count, 0, now(), now()
       FROM accounts WHERE id <> $1`,
    [SPARE_ACCOUNT],
  );
  await client.query('UPDATE accounts SET spending_limit_count = 1 WHERE id <> $1', [SPARE_ACCOUNT]);
  await client.query('VACUUM ANALYZE accounts, spending_limits');
}

/** @throws Error if a limit has counted other credits than its key spent, so that a skipped limit cannot pass for a fast one. */
async function verifyUsedOfLimits(client: Client): Promise<void> {
  const { rows } = await client.query<{ different: number }>(
    `SELECT count(*)::int AS different
       FROM spending_limits l JOIN accounts a ON a.id = l.account_id WHERE l.used <> a.period_used`,
  );
  if (rows[0]!.different > 0) throw new Error(`${rows[0]!.different} limits differ from what their keys spent.`);
}
