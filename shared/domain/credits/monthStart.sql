-- Returns the start of a month of a subscription. Months are counted from 0 and from its start, so that a clamped end
-- shifts none.
CREATE FUNCTION month_start(p_started_at timestamptz, p_month integer) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_started_at AT TIME ZONE 'UTC' + make_interval(months => p_month)) AT TIME ZONE 'UTC'
$$;
