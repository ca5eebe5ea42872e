import { PAST_DUE_GRACE_DAYS } from '../../../spec/limits.ts';
import { PLANS } from '../../../spec/plans.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from './invariant.ts';

/** What a subscription lets its account do, and for how long. */

const PLAN = `(VALUES ${PLANS.map(({ slug, parallelLimit }) => `('${slug}', ${parallelLimit})`).join(', ')}) AS plan (slug, parallel_limit)`;

export const SUBSCRIPTION_INVARIANTS: readonly Invariant[] = [
  {
    name: 'one-live-subscription',
    statement: 'An account has at most one subscription that credits can be spent under.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'subscriptions' AS subject, 'alive: ' || string_agg(uuid::text, ', ' ORDER BY id) AS detail
        FROM subscriptions WHERE status IN ('active', 'past_due') GROUP BY account_id HAVING count(*) > 1`,
  },
  {
    name: 'accounts-use-their-own-subscription',
    statement:
      'A subscription that is alive has begun, and its account lives under it; no account lives under one that has ended, or is not its own.',
    checkedWhen: 'always',
    query: `
      SELECT s.account_id, 'subscription ' || s.uuid AS subject,
             format('%s, begun %s; the account lives under number %s, this is number %s', s.status,
                    coalesce(s.activated_at::text, 'never'), coalesce(a.subscription_id::text, 'none'), s.id) AS detail
        FROM subscriptions s JOIN accounts a ON a.id = s.account_id
       WHERE s.status IN ('active', 'past_due') AND (a.subscription_id IS DISTINCT FROM s.id OR s.activated_at IS NULL)
       UNION ALL
      SELECT a.id, 'subscription ' || s.uuid,
             format('of account %s, %s, begun %s', s.account_id, s.status, coalesce(s.activated_at::text, 'never'))
        FROM accounts a JOIN subscriptions s ON s.id = a.subscription_id
       WHERE s.account_id <> a.id OR s.status = 'canceled' OR s.activated_at IS NULL`,
  },
  {
    name: 'entitlement-matches-subscription',
    statement:
      'An account may do what the subscription that it lives under allows, for as long as that does, and nothing without one.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'standing' AS subject,
             format('%s, %s at a time, until %s; the subscription says %s, %s at a time, until %s', coalesce(a.plan_slug, 'no plan'),
                    a.parallel_limit, coalesce(a.spendable_until::text, 'never'), coalesce(s.plan_slug, 'no plan'),
                    coalesce(s.parallel_limit, 0), coalesce(s.spendable_until::text, 'never')) AS detail
        FROM accounts a
        LEFT JOIN (SELECT l.id, l.plan_slug, plan.parallel_limit,
                          CASE WHEN l.past_due_since IS NOT NULL THEN l.past_due_since + interval '${PAST_DUE_GRACE_DAYS} days'
                               WHEN l.stripe_subscription_id IS NOT NULL AND NOT l.cancel_at_period_end
                               THEN l.current_period_end + interval '1 day' ELSE l.current_period_end END AS spendable_until
                     FROM subscriptions l JOIN ${PLAN} ON plan.slug = l.plan_slug
                    WHERE l.status IN ('active', 'past_due')) s ON s.id = a.subscription_id
       WHERE (a.plan_slug, a.parallel_limit, a.spendable_until) IS DISTINCT FROM (s.plan_slug, coalesce(s.parallel_limit, 0), s.spendable_until)`,
  },
  {
    name: 'plan-credits-end-with-their-subscription',
    statement: 'Without a subscription an account has no plan credits but what was refunded since.',
    checkedWhen: 'always',
    query: `
      WITH running AS (
        SELECT l.account_id, l.number, l.entry_type, l.plan_amount,
               sum(l.plan_amount) OVER (PARTITION BY l.account_id ORDER BY l.number) AS plan
          FROM ledger_entries l JOIN accounts a ON a.id = l.account_id AND a.subscription_id IS NULL AND a.plan_credits > 0
      ), emptied AS (
        SELECT account_id, max(number) FILTER (WHERE plan = 0) AS number FROM running GROUP BY 1
      )
      SELECT r.account_id, 'ledger entry ' || r.number AS subject, format('%s of %s plan credits', r.entry_type, r.plan_amount) AS detail
        FROM running r JOIN emptied e USING (account_id)
       WHERE r.number > coalesce(e.number, 0) AND r.plan_amount <> 0 AND r.entry_type <> 'refund'`,
  },
  {
    name: 'events-are-applied',
    statement: 'Every event of the payment processor was applied or abandoned.',
    checkedWhen: 'when settled',
    query: `
      SELECT NULL::bigint AS account_id, 'event ' || event_id AS subject,
             format('%s of %s, received %s, %s tries, %s', type, object_id, received_at, attempts, coalesce(problem, 'no problem')) AS detail
        FROM payment_events WHERE processed_at IS NULL AND abandoned_at IS NULL`,
  },
  {
    name: 'owed-refunds-are-attempted',
    statement: 'The attempt of every owed refund was made when it was due.',
    checkedWhen: 'when settled',
    query: `
      SELECT account_id, 'invoice ' || invoice_id AS subject,
             format('owed since %s, due %s, %s attempts, %s', created_at, next_attempt_at, attempts, coalesce(problem, 'no problem')) AS detail
        FROM owed_refunds WHERE status = 'owed' AND next_attempt_at < $1::timestamptz - ${CLOCK_SKEW_INTERVAL}`,
  },
  {
    name: 'follow-ups-are-attempted',
    statement: 'The attempt of every follow-up at the payment processor was made when it was due.',
    checkedWhen: 'when settled',
    query: `
      SELECT account_id, 'subscription ' || uuid AS subject,
             format('%s since %s, due %s', coalesce(follow_up, 'nothing'), coalesce(follow_up_at::text, 'never'), follow_up_next_attempt_at) AS detail
        FROM subscriptions WHERE follow_up_next_attempt_at < $1::timestamptz - ${CLOCK_SKEW_INTERVAL}`,
  },
];
