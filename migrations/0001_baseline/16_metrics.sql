-- Service-wide sums of the staff metrics. Triggers write every change as a delta row, in the transaction of the change
-- itself, and a worker rolls the deltas up into the sums.

-- Rows are only inserted and deleted, so that writers do not wait for each other as they would for a shared sum.
CREATE TABLE metric_deltas (
  metric  text    NOT NULL,
  label   text    NOT NULL,
  day     date,
  count   bigint  NOT NULL,
  amount  numeric NOT NULL
) WITH (
  -- Rows are deleted within seconds, and readers have to skip the dead ones: vacuum after a fixed number of them,
  -- without a cost delay. The sums, a few hundred rows with free space in their pages, are pruned by their updates.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE metric_deltas IS 'changes of the sums since the last rollup';

CREATE TABLE metric_days (
  day     date    NOT NULL,
  metric  text    NOT NULL,
  label   text    NOT NULL,
  count   bigint  NOT NULL,
  amount  numeric NOT NULL,
  PRIMARY KEY (day, metric, label)
) WITH (fillfactor = 70);

-- Sums since the service started. Reading them costs the same however old the service is.
CREATE TABLE metric_totals (
  metric  text    NOT NULL,
  label   text    NOT NULL,
  count   bigint  NOT NULL,
  amount  numeric NOT NULL,
  PRIMARY KEY (metric, label)
) WITH (fillfactor = 50);

-- Accounts by onboarding step and day of creation. Test accounts and their generations are not counted.
CREATE FUNCTION add_account_metric_delta(onboarding_step text, created_at timestamptz, sign integer)
  RETURNS void LANGUAGE sql AS $$
    INSERT INTO metric_deltas VALUES ('accounts', onboarding_step, (created_at AT TIME ZONE 'UTC')::date, sign, 0)
  $$;
CREATE FUNCTION track_account_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF coalesce(NEW.live_account_id, OLD.live_account_id) IS NOT NULL THEN RETURN NULL; END IF;
    IF TG_OP <> 'INSERT' THEN PERFORM add_account_metric_delta(OLD.onboarding_step, OLD.created_at, -1); END IF;
    IF TG_OP <> 'DELETE' THEN PERFORM add_account_metric_delta(NEW.onboarding_step, NEW.created_at, 1); END IF;
    RETURN NULL;
  END
$$;
CREATE TRIGGER accounts_track_metrics AFTER INSERT OR DELETE ON accounts
  FOR EACH ROW EXECUTE FUNCTION track_account_metrics();
-- A charge updates other columns only, so it does not fire this trigger.
CREATE TRIGGER accounts_track_metrics_on_update AFTER UPDATE OF onboarding_step ON accounts
  FOR EACH ROW WHEN (OLD.onboarding_step <> NEW.onboarding_step) EXECUTE FUNCTION track_account_metrics();

-- Live subscriptions, those of them that end with their period, and subscriptions started per day.
CREATE FUNCTION add_subscription_metric_deltas(status text, plan_slug text, is_ending boolean, activated_at timestamptz,
                                               sign integer)
  RETURNS void LANGUAGE sql AS $$
    INSERT INTO metric_deltas
    SELECT metric, plan_slug, day, sign, 0
      FROM (VALUES ('subscriptions', NULL, status IN ('active', 'past_due')),
                   ('canceling', NULL, status IN ('active', 'past_due') AND is_ending),
                   ('started', (activated_at AT TIME ZONE 'UTC')::date, activated_at IS NOT NULL)
           ) AS delta (metric, day, is_counted)
     WHERE is_counted
  $$;
CREATE FUNCTION track_subscription_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN
      PERFORM add_subscription_metric_deltas(OLD.status, OLD.plan_slug, OLD.cancel_at_period_end, OLD.activated_at, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      PERFORM add_subscription_metric_deltas(NEW.status, NEW.plan_slug, NEW.cancel_at_period_end, NEW.activated_at, 1);
    END IF;
    RETURN NULL;
  END
$$;
CREATE TRIGGER subscriptions_track_metrics AFTER INSERT OR DELETE ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION track_subscription_metrics();
CREATE TRIGGER subscriptions_track_metrics_on_update AFTER UPDATE ON subscriptions
  FOR EACH ROW WHEN ((OLD.status, OLD.plan_slug, OLD.cancel_at_period_end, OLD.activated_at)
    IS DISTINCT FROM (NEW.status, NEW.plan_slug, NEW.cancel_at_period_end, NEW.activated_at))
  EXECUTE FUNCTION track_subscription_metrics();

-- Paid top-ups by day of payment, in cents without tax and discounts, less what was refunded or disputed since.
CREATE FUNCTION add_topup_metric_delta(kind text, status text, completed_at timestamptz, net_cents bigint, sign integer)
  RETURNS void LANGUAGE sql AS $$
    INSERT INTO metric_deltas
    SELECT 'topups', kind, (completed_at AT TIME ZONE 'UTC')::date, sign, sign * net_cents
     WHERE status = 'succeeded' AND completed_at IS NOT NULL
  $$;
CREATE FUNCTION track_topup_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN
      PERFORM add_topup_metric_delta(OLD.kind, OLD.status, OLD.completed_at,
                                     coalesce(OLD.net_cents, OLD.amount_cents) - OLD.reversed_cents, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      PERFORM add_topup_metric_delta(NEW.kind, NEW.status, NEW.completed_at,
                                     coalesce(NEW.net_cents, NEW.amount_cents) - NEW.reversed_cents, 1);
    END IF;
    RETURN NULL;
  END
$$;
CREATE TRIGGER topups_track_metrics AFTER INSERT OR DELETE ON topups
  FOR EACH ROW EXECUTE FUNCTION track_topup_metrics();
CREATE TRIGGER topups_track_metrics_on_update AFTER UPDATE ON topups
  FOR EACH ROW WHEN ((OLD.status, OLD.completed_at, OLD.amount_cents, OLD.reversed_cents)
    IS DISTINCT FROM (NEW.status, NEW.completed_at, NEW.amount_cents, NEW.reversed_cents))
  EXECUTE FUNCTION track_topup_metrics();

-- Generations by day of creation, with their credits less refunds and their cost. A statement trigger: a charge inserts
-- many generations and adds one row for each model and day among them.
CREATE FUNCTION track_created_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO metric_deltas
    SELECT 'usage', model, (created_at AT TIME ZONE 'UTC')::date, count(*),
           sum(CASE WHEN status = 'failed' THEN 0 ELSE credits_charged END)
      FROM created WHERE NOT is_test GROUP BY 2, 3
     UNION ALL
    SELECT 'cost', model, (created_at AT TIME ZONE 'UTC')::date, count(*), sum(provider_cost_cents)
      FROM created WHERE provider_cost_cents IS NOT NULL AND NOT is_test GROUP BY 2, 3;
    RETURN NULL;
  END
$$;
CREATE FUNCTION track_updated_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    day date := (NEW.created_at AT TIME ZONE 'UTC')::date;
  BEGIN
    IF NEW.is_test THEN RETURN NULL; END IF;
    IF (OLD.status = 'failed') <> (NEW.status = 'failed') THEN
      INSERT INTO metric_deltas VALUES ('usage', NEW.model, day, 0,
        CASE WHEN NEW.status = 'failed' THEN -NEW.credits_charged ELSE NEW.credits_charged END);
    END IF;
    IF OLD.provider_cost_cents IS DISTINCT FROM NEW.provider_cost_cents THEN
      INSERT INTO metric_deltas VALUES ('cost', NEW.model, day,
        (NEW.provider_cost_cents IS NOT NULL)::int - (OLD.provider_cost_cents IS NOT NULL)::int,
        coalesce(NEW.provider_cost_cents, 0) - coalesce(OLD.provider_cost_cents, 0));
    END IF;
    RETURN NULL;
  END
$$;
CREATE TRIGGER generations_track_metrics AFTER INSERT ON generations REFERENCING NEW TABLE AS created
  FOR EACH STATEMENT EXECUTE FUNCTION track_created_generation_metrics();
CREATE TRIGGER generations_track_metrics_on_update AFTER UPDATE OF status, provider_cost_cents ON generations
  FOR EACH ROW WHEN (OLD.status <> NEW.status OR OLD.provider_cost_cents IS DISTINCT FROM NEW.provider_cost_cents)
  EXECUTE FUNCTION track_updated_generation_metrics();

-- Refunds of succeeded generations by staff.
CREATE FUNCTION track_refunded_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO metric_deltas
    VALUES ('usage', NEW.model, (NEW.created_at AT TIME ZONE 'UTC')::date, 0, -NEW.credits_charged);
    RETURN NULL;
  END
$$;
CREATE TRIGGER generations_track_refunds AFTER UPDATE OF refunded_at ON generations
  FOR EACH ROW WHEN (OLD.refunded_at IS NULL AND NEW.refunded_at IS NOT NULL)
  EXECUTE FUNCTION track_refunded_generation_metrics();
