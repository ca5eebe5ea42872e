import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { INSERT_OWNERS } from '../insertOwners.ts';
import { writeLedgerHistory } from './ledgerHistory.ts';

/** The initial data of a measurement: written by SQL, and consistent with every sum and counter of the service. */
export interface Seed {
  /** Accounts with a plan, a key and credits for years, numbered from 1. */
  accounts: number;
  /** Succeeded generations of account 1, and of each other account. */
  hotRows: number;
  rowsPerAccount: number;
  /** Older ledger entries of every account, an even number; see `writeLedgerHistory`. */
  ledgerHistory?: number;
}

/** The account of the "one hot account" load; spread load uses the others. */
export const HOT_ACCOUNT = 1;

/** One more account, whose number occurs nowhere else: it marks the placeholders of a captured statement. */
export const SPARE_ACCOUNT = 9_007_199_254_000;

const CREDITS = 2_000_000_000;

/** Returns the email address of an account. */
export function getAccountEmail(account: number): string {
  return `bench-${account}@example.com`;
}

/** Returns the API key of an account. */
export function getAccountKey(account: number): string {
  return `svc_${createHash('sha256').update(`bench ${account}`).digest('hex').slice(0, 40)}`;
}

export function getAccountKeyHash(account: number): Buffer {
  return createHash('sha256').update(getAccountKey(account)).digest();
}

/** Every fifth generation is a video, the others are images. */
const spentAfterSql = (n: string) => `(8 * (${n} - ${n} / 5) + 35 * (${n} / 5))`;
const spentOnSql = (n: string) => `CASE WHEN ${n} % 5 = 0 THEN 35 ELSE 8 END`;
const modelSql = (n: string) => `CASE WHEN ${n} % 5 = 0 THEN 'vidmodel-video' ELSE 'imgmodel-2' END`;

const KEY = `'svc_' || left(encode(sha256(convert_to('bench ' || id, 'UTF8')), 'hex'), 40)`;

const ACCOUNTS = `
  INSERT INTO accounts (id, uuid, email, social_provider, onboarding_step, created_at, plan_slug, spendable_until,
                        parallel_limit, balance, plan_credits, period_start, period_end, period_granted, period_used,
                        generation_count, ledger_count, key_count, active_key_count)
  OVERRIDING SYSTEM VALUE
  SELECT id, gen_random_uuid(), 'bench-' || id || '@example.com', 'dev', 'complete', now() - interval '301 days',
         'studio', now() + interval '60 days', 2000000000, ${CREDITS} - spent, ${CREDITS} - spent,
         now() - interval '301 days', now() + interval '20 days', ${CREDITS}, spent, rows, rows + 1 + history, 1, 1
    FROM bench_accounts, LATERAL (SELECT ${spentAfterSql('rows')} AS spent) sums`;

const KEYS = `
  INSERT INTO api_keys (key_hash, uuid, account_id, number, member_number, name, prefix, created_at)
  SELECT sha256(convert_to(${KEY}, 'UTF8')), gen_random_uuid(), id, 1, 1, 'bench', left(${KEY}, 12), now()
    FROM bench_accounts`;

const SUBSCRIPTIONS = `
  INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, created_at)
  SELECT gen_random_uuid(), id, plan_slug, 'active', 'stripe', created_at, spendable_until, spendable_until, created_at FROM accounts;
  INSERT INTO subscription_plans (subscription_id, plan_slug, applies_from, applies_until)
  SELECT id, plan_slug, started_at, paid_until FROM subscriptions;
  UPDATE accounts a SET subscription_id = s.id FROM subscriptions s WHERE s.account_id = a.id`;

const GRANTS = `
  INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                              effect_key, created_at)
  SELECT id, 1, 'grant', ${CREDITS}, ${CREDITS}, ${CREDITS}, 'Monthly credits: Studio plan', 'grant:bench:' || id,
         created_at
    FROM accounts`;

/** In chronological order, with the generations of all accounts interleaved as in production. */
const GENERATIONS = `
  INSERT INTO generations (uuid, account_id, number, model, prompt, params, status, credits_charged,
                           plan_credits_charged, created_at, deadline_at, completed_at, output_path, next_attempt_at, media_token,
                           upstream, upstream_model, upstream_handle)
  SELECT uuid, id, n, ${modelSql('n')}, 'A lighthouse at dusk, seen from the sea, number ' || n,
         CASE WHEN n % 5 = 0
              THEN jsonb '{"audio": false, "duration": 5, "resolution": "720p", "aspect_ratio": "16:9"}'
              ELSE jsonb '{"resolution": "1K", "aspect_ratio": "1:1"}' END,
         'succeeded', ${spentOnSql('n')}, ${spentOnSql('n')}, at, at + interval '10 minutes', at + interval '20 seconds',
         left(md5(uuid::text), 2) || '/' || md5(uuid::text) || '/' || uuid || '.png', at, uuid,
         'fal', 'bench', jsonb_build_object('request_id', uuid)
    FROM (SELECT id, n, at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || left(hash, 3)
                             || '8' || substr(hash, 4, 15))::uuid AS uuid
            FROM bench_accounts, generate_series(1, rows) AS n,
                 LATERAL (SELECT now() - interval '300 days' * (1 - n::float8 / (rows + 1)) AS at,
                                 md5(id || ' ' || n) AS hash) derived
           ORDER BY at) generation`;

const BURNS = `
  INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                              generation_uuid, created_at)
  SELECT account_id, number + 1 + history, 'burn', -credits_charged, -plan_credits_charged,
         ${CREDITS} - ${spentAfterSql('number')}, 'Generation: ' || model, uuid, created_at
    FROM generations JOIN bench_accounts ON id = account_id ORDER BY uuid`;

/** Also in chronological order: the days of one account are not adjacent. */
const USAGE = `
  INSERT INTO usage_days (account_id, day, model, credits, generations)
  SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, model, sum(credits_charged), count(*)
    FROM generations GROUP BY 1, 2, 3 ORDER BY 2`;

const TOTALS = `
  INSERT INTO usage_totals (account_id, model, credits, generations)
  SELECT account_id, model, sum(credits), sum(generations) FROM usage_days GROUP BY 1, 2`;

/**
 * Sums of every hour and model until now, as the worker writes them for a service in use: their number depends on the
 * time and not on the generations.
 */
const HOURS = `
  INSERT INTO report_progress (is_current, finished_until, summed_at)
  VALUES (true, date_trunc('hour', now(), 'UTC'), now());
  INSERT INTO generation_hours (hour, model, upstream, upstream_model, plan, generations, succeeded, failed, plan_credits, topup_credits,
                                refunded_credits, plan_revenue_cents, topup_revenue_cents, commission_cents,
                                provider_cost_cents, timed, latency_ms_sum, latency_ms_max)
  SELECT hour, model, 'fal', 'bench', 'studio', sum(made), sum(made), 0, sum(credits), 0, 0, 2.5 * sum(credits), 0, 0, 0,
         sum(made), 20000 * sum(made), 20000
    FROM (SELECT date_trunc('hour', created_at, 'UTC') AS hour, model, count(*) AS made, sum(credits_charged) AS credits
            FROM generations GROUP BY 1, 2
           UNION ALL
          SELECT hour, model, 0, 0
            FROM report_progress, unnest(ARRAY['vidmodel-video', 'imgmodel-2']) AS model,
                 generate_series(finished_until - interval '300 days', finished_until, interval '1 hour') AS hour) sums
   WHERE hour < (SELECT finished_until FROM report_progress) GROUP BY 1, 2`;

/** Stays fresh for the whole run, since there may be no worker to probe. */
const HEALTH = `
  INSERT INTO upstream_health (model, position, upstream, status, consecutive_failures, consecutive_successes, probed_at, detail)
  SELECT model, 0, '', 'online', 0, 2, now() + interval '1 day', '' FROM unnest(ARRAY['vidmodel-video', 'imgmodel-2']) AS model`;

const STATEMENTS = [
  ACCOUNTS,
  INSERT_OWNERS,
  KEYS,
  SUBSCRIPTIONS,
  GRANTS,
  GENERATIONS,
  BURNS,
  USAGE,
  TOTALS,
  HOURS,
  HEALTH,
];

/** Fills an empty database. */
export async function seedDatabase(
  client: Client,
  { accounts, hotRows, rowsPerAccount, ledgerHistory = 0 }: Seed,
): Promise<void> {
  await client.query(`
    CREATE TEMPORARY TABLE bench_accounts AS
    SELECT id::bigint, (CASE WHEN id = ${HOT_ACCOUNT} THEN ${hotRows} ELSE ${rowsPerAccount} END)::bigint AS rows,
           ${ledgerHistory}::bigint AS history
      FROM generate_series(1, ${accounts}) AS id
     UNION ALL SELECT ${SPARE_ACCOUNT}, 0, ${ledgerHistory}`);
  for (const sql of STATEMENTS) await client.query(sql);
  await client.query('DROP TABLE bench_accounts');
  if (ledgerHistory > 0) await writeLedgerHistory(client, ledgerHistory);
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
}
