import { Redis } from 'ioredis';
import type { Client } from 'pg';
import { SPARE_ACCOUNT } from './seed.ts';
import { REDIS_PREFIX } from './environment.ts';

/** Accounts whose numbers contradict their ledger, their generations or their usage. There must be none. */
const INCONSISTENT_ACCOUNTS = `
  SELECT count(*)::int AS count, min(a.id) AS example
    FROM accounts a
    LEFT JOIN (SELECT account_id, count(*) AS entries, max(number) AS newest, sum(amount) AS balance,
                      sum(plan_amount) AS plan_credits
                 FROM ledger_entries GROUP BY account_id) l ON l.account_id = a.id
    LEFT JOIN ledger_entries last ON last.account_id = a.id AND last.number = a.ledger_count
    LEFT JOIN (SELECT account_id, count(*) AS rows, max(number) AS newest,
                      count(*) FILTER (WHERE status = 'queued') AS queued,
                      sum(credits_charged) FILTER (WHERE status <> 'failed') AS spent
                 FROM generations GROUP BY account_id) g ON g.account_id = a.id
    LEFT JOIN (SELECT account_id, sum(credits) AS credits, sum(generations) AS generations
                 FROM usage_days GROUP BY account_id) u ON u.account_id = a.id
   WHERE (a.balance, a.plan_credits, a.balance, a.ledger_count, a.ledger_count)
           IS DISTINCT FROM (l.balance, l.plan_credits, last.balance_after::bigint, l.entries, l.newest)
      OR (a.generation_count, a.generation_count, a.in_flight, a.period_used)
           IS DISTINCT FROM (coalesce(g.rows, 0), coalesce(g.newest, 0), coalesce(g.queued, 0), coalesce(g.spent, 0))
      OR (a.period_used, a.generation_count)
           IS DISTINCT FROM (coalesce(u.credits, 0), coalesce(u.generations, 0))`;

/**
 * Sums everything up, so that a wrong result cannot pass for a fast one.
 * @param generations the expected number.
 * @throws Error with the sums that differ.
 */
export async function verifySums(client: Client, generations: number): Promise<void> {
  const [found] = (await client.query<{ count: number; example: string }>(INCONSISTENT_ACCOUNTS)).rows;
  if (found!.count > 0) throw new Error(`${found!.count} accounts are inconsistent, for example ${found!.example}.`);
  const [stored] = (await client.query<{ count: number }>('SELECT count(*)::int AS count FROM generations')).rows;
  if (stored!.count !== generations) {
    throw new Error(`${stored!.count} generations are stored, but ${generations} were acknowledged.`);
  }
}

/**
 * Checks that a waiting job names every generation of the API: a create without its dispatch is only half of a create.
 * Empties the Redis afterwards.
 * @throws Error if the numbers differ.
 */
export async function verifyDispatches(redisUrl: string, client: Client, byApi: number): Promise<void> {
  const { rows } = await client.query<{ uuid: string }>('SELECT uuid FROM generations WHERE account_id <> $1', [
    SPARE_ACCOUNT,
  ]);
  const redis = new Redis(redisUrl);
  const named = new Set<string>();
  // Independent of queue names: no worker has run, so that all jobs still exist.
  for (const job of await redis.keys(`{${REDIS_PREFIX}:*`)) {
    const data = (await redis.type(job)) === 'hash' ? await redis.hget(job, 'data') : null;
    for (const [uuid] of data?.matchAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []) named.add(uuid);
  }
  await redis.flushall();
  redis.disconnect();
  const enqueued = rows.filter(({ uuid }) => named.has(uuid)).length;
  if (enqueued !== byApi)
    throw new Error(`${enqueued} dispatches are waiting, but the API created ${byApi} generations.`);
}

/** @throws Error if a generation has not succeeded. */
export async function verifyAllSucceeded(client: Client): Promise<void> {
  const { rows } = await client.query<{ others: number }>(
    `SELECT count(*)::int AS others FROM generations WHERE status <> 'succeeded'`,
  );
  if (rows[0]!.others > 0) throw new Error(`${rows[0]!.others} generations did not succeed.`);
}
