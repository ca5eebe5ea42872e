import { type Corruption, breakCustomer, breakAffiliate, breakPlatform, QUEUED, suspensionSql } from './corruption.ts';

/** A session of the owner of the first account. */
const INSERT_SESSION = `
  INSERT INTO sessions (token_hash, uuid, person_id, account_id, member_number, created_at, last_used_at, expires_at)
  VALUES ('a', gen_random_uuid(), 1, 1, 1, now(), now(), now())`;

/** Corruptions of keys, usage, metrics and the state of accounts, by the invariant that each violates. */
export const ACCOUNT_CORRUPTIONS: Record<string, Corruption[]> = {
  'keys-are-counted': [
    breakCustomer('UPDATE accounts SET active_key_count = 19 WHERE id = 1'),
    breakCustomer('UPDATE accounts SET key_count = 20 WHERE id = 1'),
    breakCustomer('UPDATE api_keys SET number = 22 WHERE number = 21'),
  ],
  'keys-within-the-limit': [breakCustomer('UPDATE api_keys SET revoked_at = NULL')],
  'deleted-accounts-have-no-access': [breakCustomer('UPDATE accounts SET deletion_requested_at = now() WHERE id = 1')],
  'deletions-are-scheduled': [
    breakAffiliate('UPDATE accounts SET deletion_requested_at = now() WHERE id = 2'),
    breakAffiliate(
      `INSERT INTO account_deletions (account_id, status, requested_at, erase_at)
       VALUES (2, 'pending', now(), now())`,
    ),
  ],
  'idempotent-requests-have-a-response': [breakCustomer('UPDATE idempotent_requests SET response = NULL')],
  'usage-days-match-generations': [
    breakCustomer('UPDATE usage_days SET credits = credits + 1 WHERE account_id = 1'),
    breakCustomer('UPDATE usage_days SET generations = generations + 1 WHERE account_id = 1'),
    breakAffiliate('DELETE FROM usage_days WHERE account_id = 2'),
    breakAffiliate(
      `INSERT INTO usage_days (account_id, day, model, credits, generations) VALUES (2, '2036-01-01', 'imgmodel-2', 8, 1)`,
    ),
  ],
  'usage-totals-match-days': [
    breakCustomer('UPDATE usage_totals SET credits = credits + 1 WHERE account_id = 1'),
    breakAffiliate('DELETE FROM usage_totals WHERE account_id = 2'),
  ],
  'usage-keys-match-generations': [
    breakCustomer('UPDATE usage_keys SET credits = credits + 1 WHERE key_number = 2'),
    breakCustomer('UPDATE usage_keys SET generations = generations - 1 WHERE key_number = 2'),
    breakCustomer('DELETE FROM usage_keys WHERE key_number = 2'),
    breakCustomer(`UPDATE generations SET api_key_number = 2 WHERE ${QUEUED}`),
    breakCustomer(`UPDATE generations SET api_key_number = 99 WHERE ${QUEUED};
      INSERT INTO usage_keys VALUES (1, 99, 8, 1)`),
  ],
  'spending-limits-match-generations': [
    breakCustomer('UPDATE spending_limits SET used = used + 1 WHERE number = 1'),
    breakCustomer('UPDATE spending_limits SET generation_count_at_window_start = 12 WHERE number = 1'),
    breakCustomer(`UPDATE generations SET oauth_client_id = NULL WHERE ${QUEUED}`),
    breakCustomer(`UPDATE spending_limits SET window_start = '2037-06-01' WHERE number = 3`),
  ],
  'spending-limits-are-kept': [breakCustomer('UPDATE spending_limits SET credits = 8 WHERE number = 1')],
  'spending-limits-are-counted': [
    breakCustomer('UPDATE accounts SET spending_limit_count = 2 WHERE id = 1'),
    breakCustomer('UPDATE spending_limits SET number = 4 WHERE number = 3'),
    breakCustomer('UPDATE spending_limits SET key_number = 99 WHERE number = 3'),
  ],
  'usage-members-match-generations': [
    breakCustomer('UPDATE accounts SET member_count = 2 WHERE id = 1'),
    breakCustomer('INSERT INTO usage_members VALUES (1, 1, 8, 1); UPDATE accounts SET member_count = 2 WHERE id = 1'),
  ],
  'accounts-have-one-owner': [
    breakCustomer(`UPDATE members SET role = 'admin' WHERE account_id = 1`),
    breakCustomer(`UPDATE members SET account_id = 1, number = 2 WHERE account_id = 2`),
    breakCustomer(`UPDATE accounts SET email = 'former@example.com' WHERE id = 1`),
    breakCustomer(`UPDATE accounts SET erased_at = now() WHERE id = 1`),
  ],
  'members-are-counted': [
    breakCustomer('UPDATE accounts SET member_count = 0 WHERE id = 1'),
    breakCustomer('UPDATE members SET number = 2 WHERE account_id = 1'),
  ],
  'sessions-belong-to-members': [
    breakCustomer(`${INSERT_SESSION}; UPDATE members SET removed_at = now() WHERE account_id = 1`),
    breakCustomer(`${INSERT_SESSION}; UPDATE sessions SET person_id = person_id + 100`),
  ],
  'people-have-an-account': [
    breakPlatform('UPDATE members SET removed_at = now() WHERE account_id = 1'),
    breakPlatform('UPDATE people SET erased_at = now() WHERE id = 1'),
  ],
  'used-this-month-is-burned-this-month': [
    breakCustomer('UPDATE accounts SET period_used = period_used + 8 WHERE id = 1'),
  ],
  'no-use-is-negative': [
    breakCustomer('UPDATE accounts SET period_used = -8 WHERE id = 1'),
    breakCustomer('UPDATE usage_totals SET credits = -8 WHERE account_id = 1'),
    breakCustomer('UPDATE usage_keys SET credits = -8 WHERE key_number = 2'),
    breakCustomer('INSERT INTO usage_members VALUES (1, 1, -8, 1)'),
  ],
  'final-hours-match-generations': [
    breakPlatform('UPDATE generation_hours SET generations = generations + 1'),
    breakPlatform('UPDATE generation_hours SET plan_credits = plan_credits - 8'),
    breakPlatform('UPDATE generation_hours SET provider_cost_cents = 0'),
    breakPlatform('DELETE FROM generation_hours'),
    breakPlatform(`UPDATE generation_hours SET hour = hour - interval '1 hour'`),
  ],
  'suspensions-are-audited': [
    breakCustomer('UPDATE accounts SET suspended_at = now() WHERE id = 1'),
    breakCustomer(suspensionSql('account.suspend', null)),
    breakCustomer(suspensionSql('account.reinstate', null)),
  ],
  'suspended-creates-nothing': [
    breakCustomer(`${suspensionSql('account.suspend', 5)}; ${suspensionSql('account.reinstate', 6)}`),
    breakCustomer(`${suspensionSql('account.suspend', 5)}; UPDATE accounts SET suspended_at = now() WHERE id = 1`),
  ],
};
