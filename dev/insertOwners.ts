/** Inserts the owners of accounts that a fixture has inserted, each with the address of its account. */
export const INSERT_OWNERS = `
  INSERT INTO people (uuid, email, social_provider, created_at)
  SELECT gen_random_uuid(), email, social_provider, created_at FROM accounts
   WHERE live_account_id IS NULL AND member_count = 0
  ON CONFLICT DO NOTHING;
  INSERT INTO members (account_id, number, uuid, person_id, role, created_at)
  SELECT a.id, 1, gen_random_uuid(), p.id, 'owner', a.created_at
    FROM accounts a JOIN people p ON p.email = a.email WHERE a.live_account_id IS NULL AND a.member_count = 0;
  UPDATE accounts SET member_count = 1 WHERE live_account_id IS NULL AND member_count = 0;`;
