import { breakAffiliate, breakCustomer, type Corruption, duplicateEntrySql } from './corruption.ts';

/**
 * Corruptions of the ledger fixture in paid top-ups, their reversals and refunds, by the invariant that each violates.
 */
export const TOPUP_CORRUPTIONS: Record<string, Corruption[]> = {
  'one-entry-a-paid-topup': [
    breakCustomer(`UPDATE topups SET status = 'succeeded' WHERE status = 'pending'`),
    breakCustomer(`UPDATE topups SET status = 'failed' WHERE kind = 'manual' AND status = 'succeeded'`),
    breakCustomer(`DELETE FROM topups WHERE kind = 'manual' AND status = 'succeeded'`),
    breakCustomer(`UPDATE topups SET credits = 1897 WHERE kind = 'manual' AND status = 'succeeded'`),
    breakAffiliate(`UPDATE topups SET account_id = 2 WHERE kind = 'manual' AND status = 'succeeded'`),
    breakCustomer(duplicateEntrySql(`entry_type = 'topup'`, {})),
  ],
  'reversals-equal-their-entries': [
    breakCustomer('UPDATE topups SET credits_reversed = 900 WHERE reversal_count = 1'),
    breakCustomer('UPDATE topups SET reversal_count = 2 WHERE reversal_count = 1'),
    breakCustomer(`DELETE FROM ledger_entries WHERE effect_key LIKE 'topup:%:1'`),
  ],
  'reversed-credits-within-reversed-cents': [
    breakCustomer('UPDATE topups SET reversed_cents = 2400 WHERE reversal_count = 1'),
    breakCustomer(`UPDATE topups SET completed_at = NULL WHERE status = 'succeeded'`),
  ],
  'returned-topups-have-no-remainder': [
    breakCustomer('UPDATE topups SET reversed_cents = 5000 WHERE reversal_count = 1'),
    breakCustomer(
      `UPDATE topups SET reversed_cents = 3000 WHERE kind = 'automatic' AND status = 'succeeded' AND credits_reversed = 0`,
    ),
  ],
  'reversals-take-their-own-credits': [
    breakCustomer(`UPDATE ledger_entries SET amount = -2000 WHERE effect_key LIKE 'topup:%:1'`),
  ],
  'topup-credits-match-their-net-amount': [
    breakCustomer(`UPDATE topups SET net_cents = 4500 WHERE net_cents IS NOT NULL`),
    breakCustomer(`UPDATE topups SET net_cents = 4500, discount_cents = 500 WHERE net_cents IS NOT NULL`),
    breakCustomer(`UPDATE topups SET tax_cents = -1 WHERE net_cents IS NOT NULL`),
    // The rate of a plan that the account never had.
    breakCustomer(`UPDATE topups SET credits = 2000 WHERE net_cents IS NOT NULL`),
  ],
  'paid-topups-have-an-invoice': [
    breakCustomer(`DELETE FROM invoices WHERE kind = 'topup'`),
    breakCustomer(`UPDATE invoices SET tax_cents = 949 WHERE kind = 'topup'`),
    breakCustomer(`UPDATE invoices SET refunded_cents = 6000 WHERE kind = 'topup'`),
    breakCustomer(`UPDATE topups SET net_cents = NULL WHERE net_cents IS NOT NULL`),
  ],
};
