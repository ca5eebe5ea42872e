import { TEST_PARALLEL_LIMIT } from '../../spec/testMode.ts';
import { PAST_DUE_GRACE_DAYS } from '../../spec/limits.ts';
import { CLOCK_SKEW_INTERVAL, type Invariant } from '../invariant.ts';

/** Subscriptions, the entitlement of their accounts, and the sync with the payment processor. */

export const SUBSCRIPTION_INVARIANTS: readonly Invariant[] = [
  {
    name: 'one-live-subscription',
    statement: 'An account has at most one subscription that credits can be spent under.',
    checkedWhen: 'always',
    query: `
      SELECT account_id, 'subscriptions' AS subject, 'live: ' || string_agg(uuid::text, ', ' ORDER BY id) AS detail
        FROM subscriptions WHERE status IN ('active', 'past_due') GROUP BY account_id HAVING count(*) > 1`,
  },
  {
    name: 'accounts-use-their-own-subscription',
    statement:
      'A live subscription is activated and is the current one of its account; the current subscription of an account is its own and has not ended.',
    checkedWhen: 'always',
    query: `
      SELECT s.account_id, 'subscription ' || s.uuid AS subject,
             format('%s, activated %s; the account uses subscription %s, this is %s', s.status,
                    coalesce(s.activated_at::text, 'never'), coalesce(a.subscription_id::text, 'none'), s.id) AS detail
        FROM subscriptions s JOIN accounts a ON a.id = s.account_id
       WHERE s.status IN ('active', 'past_due') AND (a.subscription_id IS DISTINCT FROM s.id OR s.activated_at IS NULL)
       UNION ALL
      SELECT a.id, 'subscription ' || s.uuid,
             format('of account %s, %s, activated %s', s.account_id, s.status, coalesce(s.activated_at::text, 'never'))
        FROM accounts a JOIN subscriptions s ON s.id = a.subscription_id
       WHERE s.account_id <> a.id OR s.status = 'canceled' OR s.activated_at IS NULL`,
  },
  {
    name: 'entitlement-matches-subscription',
    statement: 'The entitlement of an account is that of its current subscription, and empty without one.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, 'entitlement' AS subject,
             format('%s, %s at a time, until %s; the subscription allows %s, %s at a time, until %s', coalesce(a.plan_slug, 'no plan'),
                    a.parallel_limit, coalesce(a.spendable_until::text, 'never'), coalesce(s.plan_slug, 'no plan'),
                    coalesce(s.parallel_limit, 0), coalesce(s.spendable_until::text, 'never')) AS detail
        FROM accounts a
        LEFT JOIN (SELECT l.id, l.plan_slug, plan.parallel_limit,
                          CASE WHEN l.past_due_since IS NOT NULL THEN l.past_due_since + interval '${PAST_DUE_GRACE_DAYS} days'
                               WHEN l.stripe_subscription_id IS NOT NULL AND NOT l.cancel_at_period_end
                               THEN l.current_period_end + interval '1 day' ELSE l.current_period_end END AS spendable_until
                     FROM subscriptions l JOIN catalog_plans plan ON plan.slug = l.plan_slug
                    WHERE l.status IN ('active', 'past_due')) s ON s.id = a.subscription_id
       WHERE (a.plan_slug, a.parallel_limit, a.spendable_until) IS DISTINCT FROM
             (s.plan_slug, CASE WHEN a.live_account_id IS NULL THEN coalesce(s.parallel_limit, 0) ELSE ${TEST_PARALLEL_LIMIT} END,
              s.spendable_until)`,
  },
  {
    name: 'plan-credits-end-with-their-subscription',
    statement: 'An account without a subscription has no plan credits except those refunded since it ended.',
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
    // Less the tolerance for the clocks of different processes.
    name: 'payments-after-a-deletion-are-refunded',
    statement:
      'What was paid for an account after the request of its deletion has a refund once the account is erased: top-ups and years.',
    checkedWhen: 'always',
    query: `
      SELECT a.id AS account_id, paid.subject, format('paid %s, deletion requested %s', paid.at, a.deletion_requested_at) AS detail
        FROM (SELECT account_id, 'top-up ' || uuid AS subject, completed_at AS at FROM topups t
               WHERE status = 'succeeded' AND reversed_cents < coalesce(net_cents, amount_cents)
                 AND NOT EXISTS (SELECT FROM owed_refunds o WHERE o.topup_uuid = t.uuid)
               UNION ALL
              SELECT account_id, 'invoice ' || stripe_invoice_id, paid_at FROM invoices i
               WHERE kind = 'subscription' AND status = 'paid' AND stripe_invoice_id IS NOT NULL AND refunded_cents < total_cents
                 AND NOT EXISTS (SELECT FROM owed_refunds o WHERE o.invoice_id = i.stripe_invoice_id)) paid
        JOIN accounts a ON a.id = paid.account_id
       WHERE a.erased_at IS NOT NULL AND paid.at > a.deletion_requested_at + ${CLOCK_SKEW_INTERVAL}`,
  },
];
