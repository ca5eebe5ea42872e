import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/**
 * Writes the referral of the fixture's customer, with two paid invoices, their commissions and the payout of the first.
 */
export async function writeAffiliateProgram(
  client: pg.ClientBase,
  { affiliate, customer }: { affiliate: number; customer: number },
): Promise<void> {
  const payout = randomUUID();
  await client.query(`
    INSERT INTO affiliates (account_id, code, connect_account_id, connect_onboarded, payout_enabled, created_at)
    VALUES (${affiliate}, 'bcdfghjkmnpq', 'acct_1', true, true, '2035-02-01T10:00:00Z');
    INSERT INTO referrals (account_id, affiliate_id, clicked_at, created_at)
    VALUES (${customer}, ${affiliate}, '2036-03-29T10:00:00Z', '2036-03-30T10:00:00Z');
    INSERT INTO invoices (uuid, account_id, kind, subscription_id, stripe_invoice_id, description, status, currency, total_cents,
                          tax_cents, discount_cents, net_cents, refunded_cents, created_at, paid_at)
    VALUES (gen_random_uuid(), ${customer}, 'subscription', 1, 'in_1', 'Starter plan, yearly', 'paid', 'usd', 14400, 2400, 0, 12000,
            0, '2036-03-31T10:00:00Z', '2036-03-31T10:00:00Z'),
           (gen_random_uuid(), ${customer}, 'subscription', 1, 'in_2', 'Pro plan, change', 'paid', 'usd', 20400, 3400, 0, 17000,
            6800, '2037-03-01T10:00:00Z', '2037-03-01T10:00:00Z');
    INSERT INTO commissions (invoice_id, affiliate_id, account_id, paid_cents, net_cents, reversed_cents, amount_cents, settled_cents,
                             paid_at, payable_at, synced_at, created_at)
    VALUES ('in_1', ${affiliate}, ${customer}, 14400, 12000, 0, 3600, 3600, '2036-03-31T10:00:00Z', '2036-04-30T10:00:00Z', '2036-03-31T10:01:00Z',
            '2036-03-31T10:01:00Z'),
           ('in_2', ${affiliate}, ${customer}, 20400, 17000, 6800, 3400, 0, '2037-03-01T10:00:00Z', '2037-03-31T10:00:00Z', '2037-03-01T10:01:00Z',
            '2037-03-01T10:01:00Z');
    INSERT INTO payouts (uuid, affiliate_id, month, status, amount_cents, connect_account_id, stripe_transfer_id, created_at, completed_at)
    VALUES ('${payout}', ${affiliate}, '2036-05-01', 'paid', 3600, 'acct_1', 'tr_1', '2036-05-01T00:00:00Z', '2036-05-01T00:00:01Z');
    INSERT INTO payout_items (payout_uuid, commission_id, amount_cents) VALUES ('${payout}', 1, 3600)`);
}
