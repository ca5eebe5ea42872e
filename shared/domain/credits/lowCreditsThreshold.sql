-- Returns the balance below which `credits.low` is recorded: that of the account, or a tenth of the month's grant.
CREATE FUNCTION low_credits_threshold(p_threshold integer, p_granted integer) RETURNS integer IMMUTABLE LANGUAGE sql AS $$
  SELECT coalesce(p_threshold, p_granted / 10)
$$;
