-- Returns the start of the window of a spending limit that a charge belongs to; NULL for the period `total`. A charge
-- whose clock is behind that of an earlier one stays in the window of that one.
CREATE FUNCTION spending_window(p_period text, p_window_start timestamptz, p_at timestamptz) RETURNS timestamptz
STABLE LANGUAGE sql AS $$
  SELECT CASE WHEN p_period <> 'total' THEN greatest(p_window_start, date_trunc(p_period, p_at, 'UTC')) END
$$;
