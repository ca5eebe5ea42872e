-- Locks accounts in the order of their ids, as everywhere, and returns those that it has locked. Without p_waits,
-- accounts that another transaction keeps locked are left out, so that the others do not wait.
CREATE FUNCTION lock_accounts(p_accounts bigint[], p_waits boolean) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  IF p_waits THEN
    RETURN ARRAY (SELECT a.id FROM accounts a WHERE a.id = ANY (p_accounts) ORDER BY a.id FOR NO KEY UPDATE);
  END IF;
  RETURN ARRAY (SELECT a.id FROM accounts a WHERE a.id = ANY (p_accounts) ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED);
END
$$;
