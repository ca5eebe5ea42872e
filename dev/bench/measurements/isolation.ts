import type { Client } from 'pg';
import { alternateRounds, medianRatio, quantile } from '../../local/statistics.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildCreateRequest, listSpreadAccounts } from '../httpRequests.ts';
import type { OpenLoopResult } from '../load/openLoop.ts';
import { emptyRedis } from '../pipelineRounds.ts';
import { formatQuantiles, type Measurement } from '../report.ts';
import { seedDatabase } from '../seed.ts';
import { verifySums } from '../verify.ts';

/** About as many as the whole pipeline completes on two processors. */
const CREATES_PER_SECOND = 200;

/**
 * Accounts on the largest plan with an unspent month that ends now, in no particular order. The rows are
 * consistent, so that triggers and foreign keys are off: a million checks would take minutes.
 */
const buildDueAccountsSql = (accounts: number) => `
  SET session_replication_role = replica;
  CREATE TEMPORARY TABLE due AS
    SELECT base.id + n AS id, gen_random_uuid() AS uuid, n,
           date_trunc('second', now()) - interval '1 month' - (n::bigint * 7919 % 3600) * interval '1 second' AS began
      FROM generate_series(1, ${accounts}) AS n, (SELECT max(id) AS id FROM subscriptions) base;
  INSERT INTO accounts (id, uuid, email, social_provider, onboarding_step, created_at, plan_slug, spendable_until, parallel_limit,
                        balance, plan_credits, period_start, period_end, period_granted, ledger_count, subscription_id)
  OVERRIDING SYSTEM VALUE
  SELECT 1000000 + id, gen_random_uuid(), 'due-' || n || '@example.com', 'dev', 'complete', began, 'studio',
         now() + interval '1 year', 8, 3000, 3000, began, began + interval '1 month', 3000, 1, id
    FROM due;
  INSERT INTO subscriptions (id, uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, created_at)
  OVERRIDING SYSTEM VALUE
  SELECT id, uuid, 1000000 + id, 'studio', 'active', 'stripe', began, now() + interval '1 year', now() + interval '1 year', began
    FROM due;
  INSERT INTO subscription_plans (subscription_id, plan_slug, applies_from, applies_until)
  SELECT id, 'studio', began, now() + interval '1 year' FROM due;
  INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, effect_key, created_at)
  SELECT 1000000 + id, 1, 'grant', 3000, 3000, 3000, 'Monthly credits: Studio plan', 'grant:' || uuid || ':0', began
    FROM due;
  DROP TABLE due;
  SET session_replication_role = origin`;

/** The accounts that create are due as well, somewhere among the others. */
const ALSO_DUE_SQL = `
  UPDATE subscriptions SET started_at = now() - interval '10 months' - (account_id * 7919 % 3600) * interval '1 second'
   WHERE id IN (SELECT subscription_id FROM accounts WHERE key_count > 0);
  UPDATE accounts a
     SET period_index = 9, period_start = s.started_at + interval '9 months', period_end = s.started_at + interval '10 months'
    FROM subscriptions s WHERE s.id = a.subscription_id AND a.key_count > 0`;

/** A renewal resets what a month has used; the sums are those of all months. */
const UNDO_PERIOD_USED_SQL = `
  UPDATE accounts a
     SET period_used = period_used + (SELECT coalesce(sum(credits_charged), 0) FROM generations
                                       WHERE account_id = a.id AND number <= a.generation_count_at_period_start)
   WHERE key_count > 0`;

/**
 * Measures creates at a constant rate, in turn with and without a renewal of credit periods beside them, while a million
 * accounts are due, those that create included. No worker takes the generations: the renewal runs as in the worker's
 * job, in a process of its own, and stays incomplete, since it can take an hour.
 */
export async function measureIsolation(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, isolation } = environment.options;
  const { url, client } = await environment.database('bench_isolation');
  await seedDatabase(client, { accounts, hotRows: 0, rowsPerAccount: 0 });
  await seedDueAccounts(client, isolation.accounts);
  environment.log(`${isolation.accounts.toLocaleString('en-US')} accounts are due`);
  const api = await environment.api(url);
  const http = await environment.child('./load/httpLoad.ts', url);
  const renewal = await environment.child('./load/creditPeriods.ts', url);
  const requests = listSpreadAccounts(accounts).map((account) => buildCreateRequest(account));
  await http.call('prepare', { name: 'create', port: api.port, expect: 201, requests });
  let [created, renewed] = [0, 0];

  async function createAlone(): Promise<number[]> {
    const result = await http.call<OpenLoopResult>('runOpen', 'create', CREATES_PER_SECOND, isolation.roundMs);
    created += result.sent;
    return result.latenciesMs;
  }

  async function createDuringRenewal(): Promise<number[]> {
    const renewing = renewal.call<{ renewed: number }>('renew', isolation.roundMs);
    const latencies = await createAlone();
    renewed += (await renewing).renewed;
    return latencies;
  }

  // The first creates and renewals run cold code.
  await createDuringRenewal();
  const renewedBefore = renewed;
  const rounds = await alternateRounds(isolation.rounds, createDuringRenewal, createAlone);
  const remaining = await countDue(client);
  const expected = isolation.accounts + (await countCreators(client));
  if (renewed + remaining !== expected)
    throw new Error(`${renewed} periods were renewed and ${remaining} are due, but ${expected} were due.`);
  await client.query(UNDO_PERIOD_USED_SQL);
  await verifySums(client, created);
  await Promise.all([api.end(), http.end(), renewal.end()]);
  await emptyRedis(environment);
  return [
    {
      target: 'isolation',
      value: medianRatio({ a: getP99(rounds.a), b: getP99(rounds.b) }),
      parts: {
        'p50 / p99 / p99.9 ms': formatQuantiles((share) => quantile(rounds.a.flat(), share)),
        without: formatQuantiles((share) => quantile(rounds.b.flat(), share)),
        'creates/s': CREATES_PER_SECOND,
        'periods/s': (1_000 * (renewed - renewedBefore)) / (isolation.rounds * isolation.roundMs),
      },
    },
  ];
}

function getP99(rounds: number[][]): number[] {
  return rounds.map((latencies) => quantile(latencies, 0.99));
}

async function seedDueAccounts(client: Client, accounts: number): Promise<void> {
  await client.query(buildDueAccountsSql(accounts));
  await client.query(ALSO_DUE_SQL);
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
}

async function countCreators(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM accounts WHERE key_count > 0',
  );
  return rows[0]!.count;
}

async function countDue(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM accounts WHERE period_end <= now()',
  );
  return rows[0]!.count;
}
