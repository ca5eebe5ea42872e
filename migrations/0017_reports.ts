import type { Knex } from 'knex';

/**
 * Creates the hourly sums that the reports for staff read, and records what they need and no row kept: when a
 * submission was accepted, when a subscription ended or was renewed, and the network of a referred sign-up.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE generations ADD COLUMN submitted_at timestamptz;
    COMMENT ON COLUMN generations.submitted_at IS 'start of the submission that the upstream accepted';
    ALTER TABLE subscriptions ADD COLUMN ended_at timestamptz;
    COMMENT ON COLUMN subscriptions.ended_at IS 'when it was canceled; NULL also if it ended before this column existed';
    ALTER TABLE referrals ADD COLUMN network text;
    COMMENT ON COLUMN referrals.network IS 'hash of the network of the sign-up, to compare referrals; NULL: unknown or erased';
    ALTER TABLE sign_in_attempts ADD COLUMN referral_network text;

    -- Generations by the hour of their creation. Rows of an hour are replaced until all of its generations have ended.
    CREATE TABLE generation_hours (
      hour                   timestamptz NOT NULL,
      model                  text        NOT NULL,
      -- Empty: never submitted.
      upstream               text        NOT NULL,
      upstream_model         text        NOT NULL,
      -- Plan of the account when the hour was summed; empty: none.
      plan                   text        NOT NULL,
      generations            bigint      NOT NULL,
      succeeded              bigint      NOT NULL,
      failed                 bigint      NOT NULL,
      -- Credits and revenue of failed generations are not counted: they were refunded.
      plan_credits           bigint      NOT NULL,
      topup_credits          bigint      NOT NULL,
      refunded_credits       bigint      NOT NULL,
      plan_revenue_cents     numeric     NOT NULL,
      topup_revenue_cents    numeric     NOT NULL,
      commission_cents       numeric     NOT NULL,
      provider_cost_cents    numeric     NOT NULL,
      -- Of generations that succeeded: from the accepted submission to the end.
      timed                  bigint      NOT NULL,
      latency_ms_sum         bigint      NOT NULL,
      latency_ms_max         bigint      NOT NULL,
      PRIMARY KEY (hour, model, upstream, upstream_model, plan)
    );

    CREATE TABLE failure_hours (
      hour              timestamptz NOT NULL,
      model             text        NOT NULL,
      upstream          text        NOT NULL,
      upstream_model    text        NOT NULL,
      reason            text        NOT NULL,
      failed            bigint      NOT NULL,
      refunded_credits  bigint      NOT NULL,
      last_failed_at    timestamptz NOT NULL,
      -- The latest of them.
      example_uuid      uuid        NOT NULL,
      PRIMARY KEY (hour, model, upstream, upstream_model, reason)
    );

    -- Health checks by the hour in which they were made.
    CREATE TABLE upstream_hours (
      hour                timestamptz NOT NULL,
      model               text        NOT NULL,
      -- As in upstream_health: name and model.
      upstream            text        NOT NULL,
      probes              bigint      NOT NULL DEFAULT 0,
      failed_probes       bigint      NOT NULL DEFAULT 0,
      failed_submissions  bigint      NOT NULL DEFAULT 0,
      circuit_openings    bigint      NOT NULL DEFAULT 0,
      PRIMARY KEY (hour, model, upstream)
    ) WITH (fillfactor = 70);

    -- One row.
    CREATE TABLE report_progress (
      is_current      boolean     PRIMARY KEY CHECK (is_current),
      -- Hours before this time are not summed again.
      finished_until  timestamptz NOT NULL,
      summed_at       timestamptz NOT NULL
    );

    CREATE TABLE subscription_renewals (
      subscription_id  bigint      NOT NULL REFERENCES subscriptions (id),
      -- End of the paid year that was followed by another one.
      due_at           timestamptz NOT NULL,
      plan_slug        text        NOT NULL,
      PRIMARY KEY (subscription_id, due_at)
    );
    CREATE INDEX subscription_renewals_due_at_idx ON subscription_renewals (due_at);

    -- A renewal adds about a year. Smaller steps are corrections of the same year.
    CREATE FUNCTION record_subscription_renewal() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO subscription_renewals (subscription_id, due_at, plan_slug) VALUES (NEW.id, OLD.paid_until, NEW.plan_slug)
        ON CONFLICT DO NOTHING;
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER subscriptions_record_renewal AFTER UPDATE OF paid_until ON subscriptions
      FOR EACH ROW WHEN (OLD.activated_at IS NOT NULL AND NEW.paid_until >= OLD.paid_until + interval '300 days')
      EXECUTE FUNCTION record_subscription_renewal();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER subscriptions_record_renewal ON subscriptions;
    DROP FUNCTION record_subscription_renewal;
    DROP TABLE subscription_renewals, report_progress, upstream_hours, failure_hours, generation_hours;
    ALTER TABLE sign_in_attempts DROP COLUMN referral_network;
    ALTER TABLE referrals DROP COLUMN network;
    ALTER TABLE subscriptions DROP COLUMN ended_at;
    ALTER TABLE generations DROP COLUMN submitted_at;
  `);
}
