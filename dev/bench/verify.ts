import type { Client } from 'pg';

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
  verifyCount('stored generations', await countRows(client, 'generations'), generations);
}

/** Counts rows. @param from what follows FROM. */
export async function countRows(client: Client, from: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${from}`);
  return rows[0]!.count;
}

/** @throws Error with what was counted, if it is another number. */
export function verifyCount(what: string, counted: number, expected: number): void {
  if (counted !== expected) throw new Error(`${what}: ${counted}, but ${expected} were expected.`);
}
