import type { TestService } from './testService.ts';

/** Reads what must not depend on the order and the time of events. */
export async function readPaymentEndState(service: TestService, accountId: number): Promise<object> {
  const values = [accountId];
  const [account] = await service.sql(
    `SELECT a.balance, a.plan_credits, a.topup_credits, a.plan_slug, a.erased_at IS NOT NULL AS is_erased, a.period_granted,
            s.status, s.cancel_at_period_end, s.plan_slug AS last_plan
       FROM accounts a LEFT JOIN LATERAL (SELECT * FROM subscriptions WHERE account_id = a.id ORDER BY id DESC LIMIT 1) s ON true
      WHERE a.id = $1`,
    values,
  );
  const grants =
    account.status === 'active'
      ? await service.sql(
          `SELECT split_part(effect_key, ':', 3)::int AS month, sum(amount)::int AS credits FROM ledger_entries
            WHERE account_id = $1 AND effect_key ~ '^(grant:[^:]+:[0-9]+|expiry:[^:]+:[0-9]+:[0-9]+$)' GROUP BY 1 ORDER BY 1`,
          values,
        )
      : 'ended';
  const invoices = await service.sql(
    `SELECT i.total_cents, i.refunded_cents, i.status, o.status AS owed, c.amount_cents AS commission,
            c.reversed_cents AS reversed
       FROM invoices i LEFT JOIN owed_refunds o ON o.invoice_id = i.stripe_invoice_id
       LEFT JOIN commissions c ON c.invoice_id = i.stripe_invoice_id
      WHERE i.account_id = $1 ORDER BY i.created_at, i.total_cents`,
    values,
  );
  const plans = await service.sql(
    `SELECT p.plan_slug, p.returned_at IS NOT NULL AS is_returned FROM subscription_plans p
       JOIN subscriptions s ON s.id = p.subscription_id WHERE s.account_id = $1 AND p.stripe_invoice_id IS NOT NULL
      ORDER BY p.applies_from, p.id`,
    values,
  );
  return { account, grants, invoices, plans };
}
