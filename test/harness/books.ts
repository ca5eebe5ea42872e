import type { Database } from './service.ts';

/** What must hold of every database at every moment; each query finds the rows that break it. */
/** What staff metrics are kept of, counted anew. */
const RAW_METRICS = `
  SELECT 'accounts' AS metric, onboarding_step AS label, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS times,
         0::numeric AS amount FROM accounts GROUP BY 2, 3
   UNION ALL SELECT 'subscriptions', plan_slug, NULL, count(*), 0 FROM subscriptions
              WHERE status IN ('active', 'past_due') GROUP BY 2
   UNION ALL SELECT 'canceling', plan_slug, NULL, count(*), 0 FROM subscriptions
              WHERE status IN ('active', 'past_due') AND cancel_at_period_end GROUP BY 2
   UNION ALL SELECT 'begun', plan_slug, (begun_at AT TIME ZONE 'UTC')::date, count(*), 0 FROM subscriptions
              WHERE begun_at IS NOT NULL GROUP BY 2, 3
   UNION ALL SELECT 'topups', kind, (completed_at AT TIME ZONE 'UTC')::date, count(*), sum(amount_cents - reversed_cents)
               FROM topups WHERE status = 'succeeded' GROUP BY 2, 3
   UNION ALL SELECT 'usage', model, (created_at AT TIME ZONE 'UTC')::date, count(*),
                    coalesce(sum(credits_charged) FILTER (WHERE status <> 'failed'), 0) FROM generations GROUP BY 2, 3
   UNION ALL SELECT 'cost', model, (created_at AT TIME ZONE 'UTC')::date, count(*), sum(provider_cost_cents)
               FROM generations WHERE provider_cost_cents IS NOT NULL GROUP BY 2, 3`;

/** The rows of either side that the other one has not. */
const differences = (raw: string, kept: string) => `
  WITH raw AS (${raw}), kept AS (${kept})
  (SELECT 'raw' AS side, * FROM (TABLE raw EXCEPT TABLE kept) missing)
   UNION ALL (SELECT 'kept', * FROM (TABLE kept EXCEPT TABLE raw) superfluous)`;

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
  'what commissions have settled is what payouts hold that were not refused': `
    SELECT c.id FROM commissions c
     WHERE c.settled_cents <> (SELECT coalesce(sum(i.amount_cents), 0) FROM payout_items i
                                 JOIN payouts p ON p.uuid = i.payout_uuid AND p.status <> 'refused'
                                WHERE i.commission_id = c.id)`,
  'a payout is the sum of what it holds': `
    SELECT p.uuid FROM payouts p
     WHERE p.amount_cents <> (SELECT coalesce(sum(i.amount_cents), 0) FROM payout_items i WHERE i.payout_uuid = p.uuid)`,
  'a commission is 30 % of what is left of what was paid net, rounded down': `
    SELECT id FROM commissions
     WHERE amount_cents <> floor(net_cents::numeric * 30 * (paid_cents - reversed_cents) / (100 * paid_cents))`,
  'whom a commission is for brought the customer': `
    SELECT c.id FROM commissions c LEFT JOIN referrals r ON r.account_id = c.account_id
     WHERE r.affiliate_id IS DISTINCT FROM c.affiliate_id`,
  'the totals by model are the sums of their days': `
    SELECT t.account_id FROM usage_totals t
       LEFT JOIN (SELECT account_id, model, sum(credits) AS credits, sum(generations) AS generations
                    FROM usage_days GROUP BY 1, 2) days USING (account_id, model)
     WHERE (t.credits, t.generations) IS DISTINCT FROM (days.credits, days.generations)`,
  'the platform-wide daily sums are what the raw rows say': differences(
    `SELECT metric, label, day, times::numeric, amount FROM (${RAW_METRICS}) raw WHERE day IS NOT NULL`,
    `SELECT metric, label, day, sum(times), sum(amount)
       FROM (SELECT metric, label, day, times, amount FROM metric_days
              UNION ALL SELECT metric, label, day, times, amount FROM metric_gains WHERE day IS NOT NULL) sums
      GROUP BY 1, 2, 3 HAVING sum(times) <> 0 OR sum(amount) <> 0`,
  ),
  'the platform-wide totals are what the raw rows say': differences(
    `SELECT metric, label, sum(times), sum(amount) FROM (${RAW_METRICS}) raw GROUP BY 1, 2`,
    `SELECT metric, label, sum(times), sum(amount)
       FROM (TABLE metric_totals UNION ALL SELECT metric, label, times, amount FROM metric_gains) sums
      GROUP BY 1, 2 HAVING sum(times) <> 0 OR sum(amount) <> 0`,
  ),
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
