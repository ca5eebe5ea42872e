import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { DELETION_BLOCK } from '../../shared/domain/generations/delete.ts';
import { HOT_ACCOUNT, SPARE_ACCOUNT } from './seed.ts';

/** Data that some measurements add to a seeded database. */

/** Deletes every twentieth generation of the hot account, with the same counters as deleting them one by one. */
export async function deleteSomeGenerations(client: Client): Promise<void> {
  await client.query(`
    WITH gone AS (
      UPDATE generations SET deleted_at = now() WHERE account_id = ${HOT_ACCOUNT} AND number % 20 = 0 RETURNING number
    ), counted AS (
      UPDATE accounts SET generations_deleted = (SELECT count(*) FROM gone) WHERE id = ${HOT_ACCOUNT}
    )
    INSERT INTO generation_deletion_counts (account_id, block, deleted)
    SELECT ${HOT_ACCOUNT}, (number - 1) / ${DELETION_BLOCK}, count(*) FROM gone GROUP BY 2`);
  await client.query('VACUUM ANALYZE generations, generation_deletion_counts, accounts');
}

/** Returns the header with the session of an account. */
export function buildSessionHeader(account: number): string {
  return `Cookie: token=${createHash('sha256').update(`bench session ${account}`).digest('hex')}`;
}

/** Signs all accounts in. */
export async function seedSessions(client: Client): Promise<void> {
  await client.query(`
    INSERT INTO sessions (token_hash, uuid, person_id, account_id, member_number, created_at, last_used_at, expires_at)
    SELECT sha256(convert_to(encode(sha256(convert_to('bench session ' || account_id, 'UTF8')), 'hex'), 'UTF8')),
           gen_random_uuid(), person_id, account_id, number, now(), now(), now() + interval '1 day' FROM members`);
  await client.query('VACUUM ANALYZE sessions');
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

/**
 * Adds accounts on the largest plan with an unspent month that has just ended, in no particular order. The rows are
 * consistent, so that triggers and foreign keys are off: a million checks would take minutes.
 */
export async function seedDueAccounts(client: Client, accounts: number): Promise<void> {
  await client.query(`
    SET session_replication_role = replica;
    CREATE TEMPORARY TABLE due AS
      SELECT base.id + n AS id, gen_random_uuid() AS uuid, n,
             date_trunc('second', now()) - interval '1 month' - (n::bigint * 7919 % 3600) * interval '1 second' AS began
        FROM generate_series(1, ${accounts}) AS n, (SELECT coalesce(max(id), 0) AS id FROM subscriptions) base;
    INSERT INTO accounts (id, uuid, email, social_provider, onboarding_step, created_at, plan_slug, spendable_until,
                          parallel_limit, balance, plan_credits, period_start, period_end, period_granted, ledger_count,
                          subscription_id)
    OVERRIDING SYSTEM VALUE
    SELECT 1000000 + id, gen_random_uuid(), 'due-' || n || '@example.com', 'dev', 'complete', began, 'studio',
           now() + interval '1 year', 8, 3000, 3000, began, began + interval '1 month', 3000, 1, id
      FROM due;
    INSERT INTO subscriptions (id, uuid, account_id, plan_slug, status, processor, started_at, current_period_end,
                               paid_until, created_at)
    OVERRIDING SYSTEM VALUE
    SELECT id, uuid, 1000000 + id, 'studio', 'active', 'stripe', began, now() + interval '1 year',
           now() + interval '1 year', began
      FROM due;
    INSERT INTO subscription_plans (subscription_id, plan_slug, applies_from, applies_until)
    SELECT id, 'studio', '-infinity', now() + interval '1 year' FROM due;
    INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                effect_key, created_at)
    SELECT 1000000 + id, 1, 'grant', 3000, 3000, 3000, 'Monthly credits: Studio plan', 'grant:' || uuid || ':0', began
      FROM due;
    DROP TABLE due;
    SET session_replication_role = origin`);
}
