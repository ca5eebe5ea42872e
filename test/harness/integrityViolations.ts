import {
  type Corruption,
  breakCustomer,
  breakAffiliate,
  breakPlatform,
  duplicateEntrySql,
  ONE_BURN,
  QUEUED,
} from './corruption.ts';
import { ACCOUNT_CORRUPTIONS } from './accountViolations.ts';
import { NOTIFICATION_CORRUPTIONS } from './notificationViolations.ts';
import { TEST_ACCOUNT_CORRUPTIONS } from './testAccountViolations.ts';
import { STAFF_ACTION_CORRUPTIONS } from './staffActionViolations.ts';
import { TOPUP_CORRUPTIONS } from './topupViolations.ts';

/** Corruptions of the ledger fixture, by the invariant that each violates. */
export const CORRUPTIONS: Record<string, Corruption[]> = {
  'balance-is-the-ledger': [
    breakCustomer('UPDATE accounts SET balance = balance + 1, topup_credits = topup_credits + 1 WHERE id = 1'),
  ],
  'balance-is-the-last-entry': [
    breakCustomer(
      'UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE account_id = 1 AND number = (SELECT ledger_count FROM accounts WHERE id = 1)',
    ),
  ],
  'balance-is-its-buckets': [breakCustomer('UPDATE accounts SET topup_credits = topup_credits + 1 WHERE id = 1')],
  'buckets-are-the-ledger': [
    breakCustomer(
      'UPDATE accounts SET topup_credits = topup_credits + 1, plan_credits = plan_credits - 1 WHERE id = 1',
    ),
  ],
  'ledger-chain-is-unbroken': [
    breakCustomer('UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE account_id = 1 AND number = 3'),
    breakCustomer('UPDATE ledger_entries SET number = number + 1 WHERE account_id = 1 AND number > 30'),
    breakAffiliate('DELETE FROM ledger_entries WHERE account_id = 2 AND number = 1'),
  ],
  'ledger-is-counted': [breakAffiliate('UPDATE accounts SET ledger_count = ledger_count - 1 WHERE id = 2')],
  'nothing-is-negative': [
    breakCustomer('UPDATE accounts SET balance = -1, topup_credits = -1 - plan_credits WHERE id = 1'),
    breakCustomer('UPDATE ledger_entries SET amount = -500 WHERE account_id = 1 AND number = 2'),
    breakCustomer(`UPDATE ledger_entries SET plan_amount = -9000 WHERE ${ONE_BURN}`),
  ],
  'plan-credits-are-spent-first': [breakCustomer(`UPDATE ledger_entries SET plan_amount = 0 WHERE ${ONE_BURN}`)],
  'effects-happen-once': [
    breakCustomer(duplicateEntrySql(`effect_key LIKE 'topup:%'`, {})),
    breakCustomer(duplicateEntrySql(`effect_key LIKE 'grant:%:5'`, {})),
  ],
  'entries-name-their-cause': [
    breakCustomer(`UPDATE ledger_entries SET effect_key = NULL WHERE effect_key = 'adjustment:T-1'`),
    breakCustomer(`UPDATE ledger_entries SET effect_key = 'gift:T-1' WHERE effect_key = 'adjustment:T-1'`),
    breakCustomer(`UPDATE ledger_entries SET generation_uuid = NULL WHERE ${ONE_BURN}`),
  ],
  'entry-signs-match-their-type': [
    breakCustomer(`UPDATE ledger_entries SET amount = -amount WHERE effect_key = 'adjustment:T-1'`),
    breakCustomer(`UPDATE ledger_entries SET plan_amount = amount WHERE effect_key = 'adjustment:T-1'`),
    breakCustomer(`UPDATE ledger_entries SET plan_amount = amount - 1 WHERE ${ONE_BURN} AND number < 10`),
  ],
  'adjustments-are-described': [
    breakCustomer(`UPDATE ledger_entries SET description = 'Monthly credits' WHERE effect_key = 'adjustment:T-1'`),
  ],
  'rows-have-an-account': [
    { accountId: 77, sql: `UPDATE ledger_entries SET account_id = 77 WHERE account_id = 2` },
    { accountId: 77, sql: 'UPDATE usage_days SET account_id = 77 WHERE account_id = 2' },
    { accountId: 77, sql: 'UPDATE usage_keys SET account_id = 77' },
  ],
  'one-burn-a-generation': [
    breakCustomer(duplicateEntrySql(ONE_BURN, {})),
    breakCustomer(`DELETE FROM ledger_entries WHERE generation_uuid = (SELECT uuid FROM generations WHERE ${QUEUED})`),
    breakCustomer(`UPDATE generations SET credits_charged = 9 WHERE ${QUEUED}`),
    breakCustomer(`UPDATE generations SET plan_credits_charged = 7 WHERE ${QUEUED}`),
    breakCustomer(
      `UPDATE ledger_entries SET account_id = 2, number = 99 WHERE generation_uuid = (SELECT uuid FROM generations WHERE ${QUEUED})`,
    ),
  ],
  'one-refund-a-failure': [
    breakCustomer(duplicateEntrySql(ONE_BURN, { entry_type: `'refund'`, amount: '8', plan_amount: '8' })),
    breakCustomer(duplicateEntrySql(`account_id = 1 AND entry_type = 'refund'`, {})),
    breakAffiliate(`DELETE FROM ledger_entries WHERE account_id = 2 AND entry_type = 'refund'`),
    breakAffiliate(`UPDATE ledger_entries SET plan_amount = 0 WHERE account_id = 2 AND entry_type = 'refund'`),
  ],
  'burns-have-their-generation': [
    breakCustomer(`DELETE FROM generations WHERE ${QUEUED}`),
    breakCustomer(
      `UPDATE ledger_entries SET generation_uuid = (SELECT uuid FROM generations WHERE ${QUEUED}) WHERE effect_key = 'adjustment:T-1'`,
    ),
  ],
  'slots-are-what-is-queued': [breakCustomer('UPDATE accounts SET in_flight = in_flight + 1 WHERE id = 1')],
  'slots-within-the-limit': [
    breakCustomer('UPDATE accounts SET in_flight = 6 WHERE id = 1'),
    breakCustomer(`UPDATE accounts SET in_flight = 5, parallel_limit = 3 WHERE id = 1;
               UPDATE subscriptions SET synced_at = '2037-03-15T11:00:00Z'`),
  ],
  'generations-are-numbered': [
    breakCustomer('UPDATE accounts SET generation_count = generation_count + 1 WHERE id = 1'),
    breakCustomer('UPDATE accounts SET generations_deleted = 0 WHERE id = 1'),
    breakCustomer('UPDATE generations SET number = 2 WHERE account_id = 1 AND number = 3'),
  ],
  'deletions-are-counted': [
    breakCustomer('DELETE FROM generation_deletion_counts'),
    breakCustomer('UPDATE generation_deletion_counts SET deleted = 2'),
  ],
  'completed-generations-are-consistent': [
    breakCustomer(`UPDATE generations SET completed_at = now() WHERE ${QUEUED}`),
    breakCustomer(`UPDATE generations SET output_path = NULL WHERE account_id = 1 AND number = 1`),
    breakAffiliate('UPDATE generations SET error_message = NULL WHERE account_id = 2'),
    breakAffiliate('UPDATE generations SET provider_cost_cents = 1 WHERE account_id = 2'),
    breakAffiliate(`UPDATE generations SET completed_at = created_at - interval '1 hour' WHERE account_id = 2`),
  ],
  'canceled-generations-are-refunded': [
    breakAffiliate(`UPDATE generations SET error_message = 'Canceled.' WHERE account_id = 2`),
  ],
  'unconfirmed-submits-are-given-up': [
    breakCustomer('UPDATE generations SET unconfirmed_submits = 2 WHERE account_id = 1 AND number = 1'),
  ],
  'one-generation-an-idempotency-key': [
    breakCustomer(`UPDATE generations SET idempotency_key = 'k' WHERE account_id = 1 AND number < 3`),
  ],
  'nothing-past-its-deadline': [
    breakCustomer(`UPDATE generations SET deadline_at = '2037-03-15T11:59:59Z' WHERE ${QUEUED}`),
  ],
  'one-live-subscription': [breakCustomer(`UPDATE subscriptions SET account_id = 1, status = 'past_due' WHERE id = 2`)],
  'accounts-use-their-own-subscription': [
    breakCustomer('UPDATE accounts SET subscription_id = NULL WHERE id = 1'),
    breakCustomer(`UPDATE subscriptions SET status = 'canceled' WHERE id = 1`),
    breakCustomer('UPDATE subscriptions SET activated_at = NULL WHERE id = 1'),
    breakAffiliate('UPDATE accounts SET subscription_id = 1 WHERE id = 2'),
  ],
  'entitlement-matches-subscription': [
    breakCustomer('UPDATE accounts SET parallel_limit = 6 WHERE id = 1'),
    breakCustomer(`UPDATE accounts SET spendable_until = spendable_until + interval '1 day' WHERE id = 1`),
    breakCustomer(`UPDATE subscriptions SET past_due_since = '2037-03-01T10:00:00Z', status = 'past_due' WHERE id = 1`),
    breakAffiliate(`UPDATE accounts SET plan_slug = 'lite', spendable_until = '2028-01-01T10:00:00Z' WHERE id = 2`),
  ],
  'plan-credits-end-with-their-subscription': [
    breakAffiliate(`DELETE FROM ledger_entries WHERE effect_key LIKE 'expiry:%:end'`),
  ],
  'payments-after-a-deletion-are-refunded': [
    breakCustomer(
      `UPDATE accounts SET erased_at = '2037-03-10T10:30:00Z', deletion_requested_at = '2037-03-03T10:30:00Z' WHERE id = 1`,
    ),
  ],
  'what-waits-has-a-task': [
    breakPlatform(`UPDATE payment_events SET processed_at = NULL`),
    breakCustomer(`INSERT INTO owed_refunds (invoice_id, account_id, cause, created_at)
      VALUES ('in_2', 1, 'unused', '2037-03-15T10:59:30Z')`),
    breakCustomer(`UPDATE subscriptions SET follow_up = 'cancel' WHERE id = 1`),
    breakCustomer(`UPDATE invoices SET awaits_document = true WHERE kind = 'topup' AND account_id = 1`),
    breakCustomer(`DELETE FROM tasks WHERE kind = 'topup.page'`),
  ],
  'due-tasks-are-run': [breakCustomer(`UPDATE tasks SET run_at = '2037-03-15T11:00:00Z' WHERE account_id = 1`)],
  'grants-belong-to-the-subscriber': [
    breakCustomer(`UPDATE subscriptions SET account_id = 2 WHERE id = 1`),
    breakAffiliate('DELETE FROM subscriptions WHERE id = 2'),
  ],
  'one-grant-a-month': [
    breakCustomer(`DELETE FROM ledger_entries WHERE effect_key LIKE 'grant:%:4'`),
    breakCustomer(`DELETE FROM ledger_entries WHERE effect_key LIKE 'grant:1%'`),
    breakCustomer(duplicateEntrySql(`effect_key LIKE 'grant:%:5'`, {})),
    breakAffiliate(`UPDATE subscriptions SET activated_at = NULL WHERE id = 2`),
  ],
  'a-month-grants-its-plan': [
    breakCustomer(`UPDATE ledger_entries SET amount = 1101 WHERE effect_key LIKE 'grant:%:5'`),
    breakCustomer(`UPDATE ledger_entries SET amount = 1100 WHERE effect_key LIKE 'grant:%:2:1'`),
  ],
  'grants-are-due-and-paid': [
    breakCustomer(
      `UPDATE ledger_entries SET created_at = created_at - interval '1 day' WHERE effect_key LIKE 'grant:%:5'`,
    ),
    breakCustomer(`UPDATE subscriptions SET paid_until = '2037-01-31T10:00:00Z' WHERE id = 1`),
  ],
  'no-grant-is-missing': [
    breakCustomer(`DELETE FROM ledger_entries WHERE effect_key LIKE 'grant:%:11'`),
    breakCustomer(
      `UPDATE ledger_entries SET effect_key = 'grant:11111111-1111-4111-8111-111111111111:12' WHERE effect_key LIKE 'grant:%:0' AND account_id = 1`,
    ),
  ],
  'due-grants-precede-automatic-topups': [
    breakCustomer(`UPDATE ledger_entries SET number = number + 1000 WHERE effect_key LIKE 'grant:%:11'`),
    breakCustomer(`UPDATE ledger_entries SET created_at = '2037-03-11T10:00:00Z' WHERE effect_key LIKE 'grant:%:11'`),
  ],
  'expiry-takes-all': [
    breakCustomer(`UPDATE ledger_entries SET plan_amount = plan_amount + 1 WHERE effect_key LIKE 'expiry:%:6'`),
  ],
  'periods-renew-atomically': [
    breakCustomer(`UPDATE ledger_entries SET amount = amount - 1 WHERE effect_key LIKE 'rollover:%:6'`),
    breakCustomer(`DELETE FROM ledger_entries WHERE effect_key LIKE 'rollover:%:6'`),
    breakCustomer(`DELETE FROM ledger_entries WHERE effect_key LIKE 'expiry:%:6'`),
    breakCustomer(`DELETE FROM ledger_entries WHERE effect_key LIKE 'grant:%:6'`),
  ],
  'accounts-are-in-their-latest-period': [
    breakCustomer('UPDATE accounts SET period_index = 10 WHERE id = 1'),
    breakCustomer(`UPDATE accounts SET period_end = '2037-03-28T10:00:00Z' WHERE id = 1`),
    breakCustomer('UPDATE accounts SET period_granted = 400 WHERE id = 1'),
    breakCustomer('UPDATE accounts SET period_rollover = 0 WHERE id = 1'),
  ],
  ...TOPUP_CORRUPTIONS,
  'automatic-topups-are-an-hour-apart': [
    breakCustomer(
      `UPDATE topups SET created_at = '2037-03-10T11:50:00Z' WHERE kind = 'automatic' AND status = 'succeeded'`,
    ),
  ],
  'one-automatic-topup-at-a-time': [breakCustomer(`UPDATE topups SET status = 'pending' WHERE kind = 'automatic'`)],
  'auto-topup-claim-is-recorded': [
    breakCustomer('UPDATE accounts SET auto_topup_claimed_at = NULL WHERE id = 1'),
    breakCustomer(`UPDATE accounts SET auto_topup_claimed_at = '2037-03-10T11:00:00Z' WHERE id = 1`),
  ],
  'auto-topup-triggers-follow-burns': [
    breakCustomer(`UPDATE accounts SET auto_topup_enabled = true, auto_topup_threshold_credits = 1000000,
      auto_topup_triggered_at = '2037-03-15T12:01:00Z' WHERE id = 1`),
    breakAffiliate(
      `UPDATE accounts SET auto_topup_enabled = false, auto_topup_triggered_at = '2035-02-01T10:00:00Z' WHERE id = 2`,
    ),
    ...['suspended_at', 'deletion_requested_at'].map((column) =>
      breakCustomer(`UPDATE accounts SET auto_topup_enabled = true, auto_topup_threshold_credits = 1000000,
        auto_topup_triggered_at = '2037-03-15T11:58:00Z', ${column} = '2037-03-15T11:59:00Z' WHERE id = 1`),
    ),
  ],
  'no-auto-topup-is-unresolved': [
    breakCustomer(`UPDATE topups SET status = 'pending' WHERE kind = 'automatic' AND status = 'failed'`),
  ],
  'no-self-referral': [
    breakAffiliate('UPDATE referrals SET account_id = 2'),
    breakAffiliate('UPDATE commissions SET account_id = 2 WHERE id = 1'),
  ],
  'referrals-are-of-new-accounts': [
    breakCustomer(`UPDATE referrals SET clicked_at = '2036-02-20T10:00:00Z'`),
    breakCustomer(`UPDATE referrals SET created_at = '2036-04-20T10:00:00Z'`),
  ],
  'affiliate-flag-matches-enrollment': [
    breakAffiliate('UPDATE accounts SET is_affiliate = false WHERE id = 2'),
    breakCustomer('UPDATE accounts SET is_affiliate = true WHERE id = 1'),
  ],
  'one-commission-an-invoice': [breakAffiliate(`UPDATE commissions SET invoice_id = 'in_1'`)],
  'paid-invoices-earn-commissions': [
    breakAffiliate(`UPDATE invoices SET stripe_invoice_id = 'in_3' WHERE stripe_invoice_id = 'in_1'`),
    breakAffiliate(`DELETE FROM commissions WHERE invoice_id = 'in_2'`),
  ],
  'commissions-belong-to-the-referrer': [breakAffiliate('DELETE FROM referrals')],
  'commissions-are-their-share': [
    breakAffiliate('UPDATE commissions SET amount_cents = 3401 WHERE id = 2'),
    breakAffiliate('UPDATE commissions SET reversed_cents = 0 WHERE id = 2'),
    breakAffiliate('UPDATE commissions SET payable_at = paid_at WHERE id = 2'),
    breakAffiliate('UPDATE commissions SET net_cents = 14400, amount_cents = 4320 WHERE id = 1'),
  ],
  'settled-equals-payout-items': [
    breakAffiliate('UPDATE commissions SET settled_cents = 1 WHERE id = 2'),
    breakAffiliate(`UPDATE payouts SET status = 'rejected'`),
    breakAffiliate('UPDATE payouts SET affiliate_id = 1'),
  ],
  'payouts-equal-their-items': [
    breakAffiliate('UPDATE payouts SET amount_cents = 3601'),
    breakAffiliate('DELETE FROM payout_items'),
  ],
  'one-payout-a-month': [
    breakAffiliate(`INSERT INTO payouts (uuid, affiliate_id, month, status, amount_cents, created_at)
                VALUES (gen_random_uuid(), 2, '2036-05-01', 'pending', 1, now())`),
  ],
  'payouts-cover-payable-commissions': [
    breakAffiliate(`UPDATE payouts SET month = '2036-04-01'`),
    breakAffiliate('UPDATE commissions SET is_simulated = true'),
    breakAffiliate('UPDATE payouts SET stripe_transfer_id = NULL'),
  ],
  'completed-payouts-are-consistent': [
    breakAffiliate('UPDATE payouts SET completed_at = NULL'),
    breakAffiliate(`UPDATE payouts SET status = 'rejected'`),
  ],
  ...ACCOUNT_CORRUPTIONS,
  ...STAFF_ACTION_CORRUPTIONS,
  ...TEST_ACCOUNT_CORRUPTIONS,
  ...NOTIFICATION_CORRUPTIONS,
};
