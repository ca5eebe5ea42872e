import type { Queryable } from './invariant.ts';

/** Of each kind of thing that happened so many are told, the newest. */
const MAX_LINES_PER_KIND = 500;

/** Each kind: the moment and what happened then. $1 is the account's id. */
const HISTORY_QUERIES: readonly string[] = [
  `SELECT created_at AS at, format('account %s (%s) is made', id, uuid) AS line FROM accounts WHERE id = $1`,
  `SELECT created_at, format('ledger %s: %s %s (plan %s), balance %s; %s%s', number, entry_type, amount, plan_amount,
          balance_after, description, coalesce(' [' || coalesce(effect_key, generation_uuid::text) || ']', ''))
     FROM ledger_entries WHERE account_id = $1`,
  `SELECT created_at, format('generation %s (%s) is created: %s, %s credits (plan %s)%s', number, uuid, model,
          credits_charged, plan_credits_charged, CASE WHEN status = 'queued' THEN format(
          '; it is queued, at %s, %s submits without an answer, due %s, deadline %s', coalesce(upstream, 'no upstream'),
          unconfirmed_submits, next_attempt_at, deadline_at) END)
     FROM generations WHERE account_id = $1`,
  `SELECT completed_at, format('generation %s (%s) has %s%s', number, uuid, status, coalesce(': ' || error_message, ''))
     FROM generations WHERE account_id = $1 AND completed_at IS NOT NULL`,
  `SELECT deleted_at, format('generation %s (%s) is deleted', number, uuid)
     FROM generations WHERE account_id = $1 AND deleted_at IS NOT NULL`,
  `SELECT created_at, format('top-up %s (%s) begins: %s cents for %s credits; it is %s', uuid, kind, amount_cents, credits, status)
     FROM topups WHERE account_id = $1`,
  `SELECT completed_at, format('top-up %s has %s%s; %s cents reversed, %s credits taken back in %s steps', uuid, status,
          coalesce(' (' || failure || ')', ''), reversed_cents, credits_reversed, reversal_count)
     FROM topups WHERE account_id = $1 AND completed_at IS NOT NULL`,
  `SELECT created_at, format('subscription %s (%s) is recorded: %s, %s, from %s, paid until %s, period ends %s, last look %s',
          id, uuid, plan_slug, status, started_at, paid_until, current_period_end, coalesce(synced_at::text, 'never'))
     FROM subscriptions WHERE account_id = $1`,
  `SELECT activated_at, format('subscription %s begins', id) FROM subscriptions WHERE account_id = $1 AND activated_at IS NOT NULL`,
  `SELECT e.received_at, format('event %s (%s of %s) comes; %s', e.event_id, e.type, e.object_id,
          coalesce('applied ' || e.processed_at, format('not applied after %s tries: %s', e.attempts, e.problem)))
     FROM payment_events e JOIN accounts a ON a.id = $1 AND strpos(e.payload, a.stripe_customer_id) > 0`,
  `SELECT created_at, format('API key %s (%s) is made', number, prefix) FROM api_keys WHERE account_id = $1`,
  `SELECT revoked_at, format('API key %s (%s) is revoked', number, prefix)
     FROM api_keys WHERE account_id = $1 AND revoked_at IS NOT NULL`,
  `SELECT created_at, format('commission %s for affiliate %s: invoice %s, %s of %s cents, %s settled', id, affiliate_id,
          invoice_id, amount_cents, paid_cents, settled_cents)
     FROM commissions WHERE account_id = $1 OR affiliate_id = $1`,
  `SELECT created_at, format('payout %s of %s cents for %s is %s', uuid, amount_cents, month, status)
     FROM payouts WHERE affiliate_id = $1`,
];

/** What the account is now: its columns, but for what only a person may read. */
const CURRENT_ACCOUNT_COLUMNS = `
  SELECT key, value FROM accounts a, jsonb_each_text(to_jsonb(a)) WHERE a.id = $1
     AND key NOT IN ('id', 'uuid', 'email', 'first_name', 'use_case', 'language') AND value IS NOT NULL ORDER BY key`;

/**
 * What is known of an account, as lines for people, in order of time: its ledger, generations, top-ups, subscriptions,
 * events, keys and commissions, the newest 500 of each, and what its row says now.
 */
export async function readAccountHistory(client: Queryable, accountId: string): Promise<string[]> {
  const newest = HISTORY_QUERIES.map(
    (kind, index) => `(SELECT * FROM (${kind}) AS k${index} (at, line) ORDER BY at DESC LIMIT ${MAX_LINES_PER_KIND})`,
  );
  const happened = await client.query(
    `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, line
       FROM (${newest.join(' UNION ALL ')}) AS happened ORDER BY happened.at, line`,
    [accountId],
  );
  const now = await client.query(CURRENT_ACCOUNT_COLUMNS, [accountId]);
  return [
    ...happened.rows.map(({ at, line }: { at: string; line: string }) => `${at}  ${line}`),
    `now  ${now.rows.map(({ key, value }: { key: string; value: string }) => `${key} ${value}`).join(', ')}`,
  ];
}
