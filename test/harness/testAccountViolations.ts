import { breakCustomer, type Corruption } from './corruption.ts';

const breakTestAccount = (sql: string): Corruption => ({ accountId: 3, sql });

/** Corruptions of test accounts, by the invariant that each violates. */
export const TEST_ACCOUNT_CORRUPTIONS: Record<string, Corruption[]> = {
  'test-accounts-have-no-credits': [
    breakTestAccount('UPDATE accounts SET balance = 8, topup_credits = 8 WHERE id = 3'),
    breakTestAccount('UPDATE accounts SET ledger_count = 1 WHERE id = 3'),
    breakTestAccount('UPDATE accounts SET auto_topup_enabled = true WHERE id = 3'),
    breakTestAccount(
      `INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, created_at)
       VALUES (3, 1, 'grant', 8, 0, 8, 'gift', now())`,
    ),
    breakTestAccount(`INSERT INTO emails (account_id, kind, cause, created_at) VALUES (3, 'key.created', 'x', now())`),
  ],
  'test-accounts-belong-to-a-live-account': [
    breakTestAccount('UPDATE accounts SET live_account_id = 99 WHERE id = 3'),
    breakTestAccount('UPDATE accounts SET live_account_id = 3 WHERE id = 3'),
    breakTestAccount('UPDATE accounts SET suspended_at = now() WHERE id = 3'),
    breakTestAccount('UPDATE accounts SET deletion_requested_at = now() WHERE id = 1'),
    breakTestAccount('UPDATE accounts SET deletion_requested_at = now() WHERE id = 3'),
  ],
  'test-keys-act-on-the-test-account': [
    breakCustomer('UPDATE api_keys SET test_account_id = 2 WHERE number = 1'),
    breakCustomer('UPDATE api_keys SET test_account_id = 99 WHERE number = 1'),
  ],
  'test-generations-are-separate': [
    breakTestAccount(`UPDATE generations SET upstream = 'fal' WHERE account_id = 3`),
    breakTestAccount('UPDATE generations SET is_test = false WHERE account_id = 3'),
    breakTestAccount('UPDATE generations SET credits_charged = 8 WHERE account_id = 3'),
    breakTestAccount('UPDATE generations SET provider_cost_cents = 4 WHERE account_id = 3'),
    breakTestAccount('UPDATE generations SET is_watermarked = false WHERE account_id = 3'),
    breakCustomer(`UPDATE generations SET upstream = 'test-mode' WHERE account_id = 1 AND status = 'queued'`),
    breakCustomer(`UPDATE generations SET is_test = true WHERE account_id = 1 AND status = 'queued'`),
  ],
};
