-- Hourly sums that the staff metrics and the reports for staff read.

-- Generations by the hour of their creation.
CREATE TABLE generation_hours (
  hour                 timestamptz NOT NULL,
  -- Of generations that may still change. Replaced once a minute.
  is_open              boolean     NOT NULL DEFAULT false,
  model                text        NOT NULL,
  -- Empty: never submitted.
  upstream             text        NOT NULL,
  upstream_model       text        NOT NULL,
  -- Plan of the account when the generation was summed; empty: none.
  plan                 text        NOT NULL,
  -- Why they failed; empty: they have not.
  reason               text        NOT NULL DEFAULT '',
  generations          bigint      NOT NULL,
  succeeded            bigint      NOT NULL,
  failed               bigint      NOT NULL,
  canceled             bigint      NOT NULL DEFAULT 0,
  -- Credits and revenue of failed generations are not counted: they were refunded. Refunds by staff are not subtracted.
  plan_credits         bigint      NOT NULL,
  topup_credits        bigint      NOT NULL,
  refunded_credits     bigint      NOT NULL,
  plan_revenue_cents   numeric     NOT NULL,
  topup_revenue_cents  numeric     NOT NULL,
  commission_cents     numeric     NOT NULL,
  provider_cost_cents  numeric     NOT NULL,
  -- Of generations that succeeded: from the accepted submission to the end.
  timed                bigint      NOT NULL,
  latency_ms_sum       bigint      NOT NULL,
  latency_ms_max       bigint      NOT NULL,
  -- The latest failure.
  last_failed_at       timestamptz,
  example_uuid         uuid,
  PRIMARY KEY (hour, is_open, model, upstream, upstream_model, plan, reason)
);
COMMENT ON COLUMN generation_hours.canceled IS 'canceled by their owners and refunded; not in failed';

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
  -- Generations created before this time are final, and not summed again.
  finished_until  timestamptz NOT NULL,
  summed_at       timestamptz NOT NULL
);
