import type { Knex } from 'knex';

/**
 * What staff see of the whole service, as sums that are kept: every change adds a row of its own that says by how much,
 * and a worker folds those rows into the sums. Triggers write them, so that each is there exactly if its change is,
 * whoever made it, and a process of the version before counts as well.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Only added to and taken away from, in any order: nobody waits for anybody here, as they would for one row for all.
    CREATE TABLE metric_deltas (
      metric  text     NOT NULL,
      label   text     NOT NULL,
      day     date,
      times   bigint   NOT NULL,
      amount  numeric  NOT NULL
    ) WITH (
      -- Every row dies within seconds, and whoever reads passes by the dead ones: vacuum comes by their number alone, and
      -- does not dawdle. The sums, some hundred rows with room in their pages, clean up after themselves.
      autovacuum_vacuum_scale_factor = 0,
      autovacuum_vacuum_threshold = 200,
      autovacuum_vacuum_cost_delay = 0
    );
    COMMENT ON TABLE metric_deltas IS 'by how much the sums have changed since they were last folded';

    CREATE TABLE metric_days (
      day     date     NOT NULL,
      metric  text     NOT NULL,
      label   text     NOT NULL,
      times   bigint   NOT NULL,
      amount  numeric  NOT NULL,
      PRIMARY KEY (day, metric, label)
    ) WITH (fillfactor = 70);

    -- The same since the service began, so that it costs no more as it grows old.
    CREATE TABLE metric_totals (
      metric  text     NOT NULL,
      label   text     NOT NULL,
      times   bigint   NOT NULL,
      amount  numeric  NOT NULL,
      PRIMARY KEY (metric, label)
    ) WITH (fillfactor = 50);
  `);

  // Accounts by onboarding step, on the day that they were made.
  await knex.raw(`
    CREATE FUNCTION add_account_metric_delta(a accounts, sign integer) RETURNS void LANGUAGE sql AS $$
      INSERT INTO metric_deltas VALUES ('accounts', a.onboarding_step, (a.created_at AT TIME ZONE 'UTC')::date, sign, 0)
    $$;
    CREATE FUNCTION track_account_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN PERFORM add_account_metric_delta(OLD, -1); END IF;
        IF TG_OP <> 'DELETE' THEN PERFORM add_account_metric_delta(NEW, 1); END IF;
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER accounts_track_metrics AFTER INSERT OR DELETE ON accounts
      FOR EACH ROW EXECUTE FUNCTION track_account_metrics();
    -- Not of what a charge changes, which is all the rest.
    CREATE TRIGGER accounts_track_metrics_on_update AFTER UPDATE OF onboarding_step ON accounts
      FOR EACH ROW WHEN (OLD.onboarding_step <> NEW.onboarding_step) EXECUTE FUNCTION track_account_metrics();
  `);

  // Subscriptions that are alive and those of them that will not be renewed; and the ones that began, on their day.
  await knex.raw(`
    CREATE FUNCTION add_subscription_metric_deltas(s subscriptions, sign integer) RETURNS void LANGUAGE sql AS $$
      INSERT INTO metric_deltas
      SELECT metric, s.plan_slug, day, sign, 0
        FROM (VALUES ('subscriptions', NULL, s.status IN ('active', 'past_due')),
                     ('canceling', NULL, s.status IN ('active', 'past_due') AND s.cancel_at_period_end),
                     ('begun', (s.activated_at AT TIME ZONE 'UTC')::date, s.activated_at IS NOT NULL)
             ) AS gain (metric, day, counts)
       WHERE counts
    $$;
    CREATE FUNCTION track_subscription_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN PERFORM add_subscription_metric_deltas(OLD, -1); END IF;
        IF TG_OP <> 'DELETE' THEN PERFORM add_subscription_metric_deltas(NEW, 1); END IF;
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER subscriptions_track_metrics AFTER INSERT OR DELETE ON subscriptions
      FOR EACH ROW EXECUTE FUNCTION track_subscription_metrics();
    CREATE TRIGGER subscriptions_track_metrics_on_update AFTER UPDATE ON subscriptions
      FOR EACH ROW WHEN ((OLD.status, OLD.plan_slug, OLD.cancel_at_period_end, OLD.activated_at)
        IS DISTINCT FROM (NEW.status, NEW.plan_slug, NEW.cancel_at_period_end, NEW.activated_at))
      EXECUTE FUNCTION track_subscription_metrics();
  `);

  // Top-ups that were paid, on that day, in cents and less what was refunded or disputed since.
  await knex.raw(`
    CREATE FUNCTION add_topup_metric_delta(t topups, sign integer) RETURNS void LANGUAGE sql AS $$
      INSERT INTO metric_deltas
      SELECT 'topups', t.kind, (t.completed_at AT TIME ZONE 'UTC')::date, sign, sign * (t.amount_cents - t.reversed_cents)
       WHERE t.status = 'succeeded' AND t.completed_at IS NOT NULL
    $$;
    CREATE FUNCTION track_topup_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN PERFORM add_topup_metric_delta(OLD, -1); END IF;
        IF TG_OP <> 'DELETE' THEN PERFORM add_topup_metric_delta(NEW, 1); END IF;
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER topups_track_metrics AFTER INSERT OR DELETE ON topups
      FOR EACH ROW EXECUTE FUNCTION track_topup_metrics();
    CREATE TRIGGER topups_track_metrics_on_update AFTER UPDATE ON topups
      FOR EACH ROW WHEN ((OLD.status, OLD.completed_at, OLD.amount_cents, OLD.reversed_cents)
        IS DISTINCT FROM (NEW.status, NEW.completed_at, NEW.amount_cents, NEW.reversed_cents))
      EXECUTE FUNCTION track_topup_metrics();
  `);

  // Generations and their credits, less refunds, and what they cost us; on the day that they were created. Once for all
  // that a statement inserts: the charge inserts many, and adds a row for each model and day among them.
  await knex.raw(`
    CREATE FUNCTION track_created_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO metric_deltas
        SELECT 'usage', model, (created_at AT TIME ZONE 'UTC')::date, count(*),
               sum(CASE WHEN status = 'failed' THEN 0 ELSE credits_charged END)
          FROM made GROUP BY 2, 3
         UNION ALL
        SELECT 'cost', model, (created_at AT TIME ZONE 'UTC')::date, count(*), sum(provider_cost_cents)
          FROM made WHERE provider_cost_cents IS NOT NULL GROUP BY 2, 3;
        RETURN NULL;
      END
    $$;
    CREATE FUNCTION track_updated_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        day date := (NEW.created_at AT TIME ZONE 'UTC')::date;
      BEGIN
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
    CREATE TRIGGER generations_track_metrics AFTER INSERT ON generations REFERENCING NEW TABLE AS made
      FOR EACH STATEMENT EXECUTE FUNCTION track_created_generation_metrics();
    CREATE TRIGGER generations_track_metrics_on_update AFTER UPDATE OF status, provider_cost_cents ON generations
      FOR EACH ROW WHEN (OLD.status <> NEW.status OR OLD.provider_cost_cents IS DISTINCT FROM NEW.provider_cost_cents)
      EXECUTE FUNCTION track_updated_generation_metrics();
  `);

  // What was there before. Creating the triggers has locked the tables against changes: nothing counts twice or not at all.
  await knex.raw(`
    INSERT INTO metric_deltas
    SELECT 'accounts', onboarding_step, (created_at AT TIME ZONE 'UTC')::date, count(*), 0 FROM accounts GROUP BY 2, 3;
    SELECT add_subscription_metric_deltas(s, 1) FROM subscriptions s;
    SELECT add_topup_metric_delta(t, 1) FROM topups t WHERE status = 'succeeded';
    INSERT INTO metric_deltas
    SELECT 'usage', model, day, sum(generations), sum(credits) FROM usage_days GROUP BY 2, 3;
    INSERT INTO metric_deltas
    SELECT 'cost', model, (created_at AT TIME ZONE 'UTC')::date, count(*), sum(provider_cost_cents)
      FROM generations WHERE provider_cost_cents IS NOT NULL GROUP BY 2, 3;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER generations_track_metrics_on_update ON generations;
    DROP TRIGGER generations_track_metrics ON generations;
    DROP TRIGGER topups_track_metrics_on_update ON topups;
    DROP TRIGGER topups_track_metrics ON topups;
    DROP TRIGGER subscriptions_track_metrics_on_update ON subscriptions;
    DROP TRIGGER subscriptions_track_metrics ON subscriptions;
    DROP TRIGGER accounts_track_metrics_on_update ON accounts;
    DROP TRIGGER accounts_track_metrics ON accounts;
    DROP FUNCTION track_updated_generation_metrics, track_created_generation_metrics, track_topup_metrics, add_topup_metric_delta,
      track_subscription_metrics, add_subscription_metric_deltas, track_account_metrics, add_account_metric_delta;
    DROP TABLE metric_totals, metric_days, metric_deltas;
  `);
}
