import type { Database } from './service.ts';

/** What must hold of every database at every moment; each query finds the rows that break it. */
const INVARIANTS: Record<string, string> = {
  'the balance is the sum of the ledger': `
    SELECT a.id FROM accounts a
     WHERE a.balance <> coalesce((SELECT sum(amount) FROM ledger_entries l WHERE l.account_id = a.id), 0)`,
  'the plan bucket is the sum of what the ledger put there': `
    SELECT a.id FROM accounts a
     WHERE a.plan_credits <> coalesce((SELECT sum(plan_amount) FROM ledger_entries l WHERE l.account_id = a.id), 0)`,
  'the chain of balances is unbroken and its numbers have no gaps': `
    SELECT account_id, number FROM (
      SELECT account_id, number, row_number() OVER w AS expected, balance_after, sum(amount) OVER w AS running
        FROM ledger_entries WINDOW w AS (PARTITION BY account_id ORDER BY number)) chain
     WHERE number <> expected OR balance_after <> running`,
  'the counters count': `
    SELECT a.id FROM accounts a
     WHERE a.ledger_count <> (SELECT count(*) FROM ledger_entries l WHERE l.account_id = a.id)
        OR a.generation_count <> (SELECT count(*) FROM generations g WHERE g.account_id = a.id)
        OR a.generations_deleted <> (SELECT count(*) FROM generations g WHERE g.account_id = a.id AND deleted_at IS NOT NULL)
        OR a.active_key_count <> (SELECT count(*) FROM api_keys k WHERE k.account_id = a.id AND revoked_at IS NULL)
        OR a.key_count <> (SELECT count(*) FROM api_keys k WHERE k.account_id = a.id)`,
  'slots taken are jobs queued, within the limit': `
    SELECT a.id FROM accounts a
     WHERE a.in_flight <> (SELECT count(*) FROM generations g WHERE g.account_id = a.id AND g.status = 'queued')
        OR a.in_flight > a.parallel_limit`,
  'each generation burned once, and was refunded exactly if it failed': `
    SELECT g.uuid FROM generations g
     WHERE (SELECT count(*) FROM ledger_entries l WHERE l.generation_uuid = g.uuid AND l.entry_type = 'burn'
                                                    AND l.amount = -g.credits_charged) <> 1
        OR (SELECT count(*) FROM ledger_entries l WHERE l.generation_uuid = g.uuid AND l.entry_type = 'refund'
                                                    AND l.amount = g.credits_charged) <> (g.status = 'failed')::int`,
  'the daily sums are what the ledger says, less refunds': `
    SELECT u.account_id FROM usage_days u
     WHERE u.credits <> (SELECT coalesce(sum(g.credits_charged), 0) FROM generations g
                          WHERE g.account_id = u.account_id AND g.model = u.model AND g.status <> 'failed'
                            AND (g.created_at AT TIME ZONE 'UTC')::date = u.day)`,
  'the totals by model are the sums of their days': `
    SELECT t.account_id FROM usage_totals t
       LEFT JOIN (SELECT account_id, model, sum(credits) AS credits, sum(generations) AS generations
                    FROM usage_days GROUP BY 1, 2) days USING (account_id, model)
     WHERE (t.credits, t.generations) IS DISTINCT FROM (days.credits, days.generations)`,
};

/** @returns a sentence for each invariant that does not hold. */
export async function violations(database: Database): Promise<string[]> {
  const found: string[] = [];
  for (const [name, query] of Object.entries(INVARIANTS)) {
    const { rows } = await database.query(query);
    if (rows.length > 0) found.push(`${name}: broken by ${JSON.stringify(rows.slice(0, 5))}`);
  }
  return found;
}
