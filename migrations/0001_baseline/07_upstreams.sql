-- Health and rate limit state of upstreams; workers write both.

CREATE TABLE upstream_health (
  model                     text        NOT NULL,
  position                  smallint    NOT NULL,
  upstream                  text        NOT NULL,
  status                    text        NOT NULL CHECK (status IN ('online', 'degraded', 'offline')),
  consecutive_failures      integer     NOT NULL,
  consecutive_successes     integer     NOT NULL,
  probed_at                 timestamptz NOT NULL,
  detail                    text        NOT NULL,
  -- Evidence that the upstream rejects our account and not one generation: see `circuit.ts`.
  account_error_at          timestamptz,
  account_error_account_id  bigint,
  accepted_at               timestamptz,
  circuit_open_until        timestamptz,
  PRIMARY KEY (model, position)
) WITH (fillfactor = 50);
COMMENT ON COLUMN upstream_health.position IS '0: first choice of the model, from 1: its fallbacks';
COMMENT ON COLUMN upstream_health.account_error_at IS
  'time of the first account error since the last accepted submit';
COMMENT ON COLUMN upstream_health.account_error_account_id IS 'account of the generation of account_error_at';
COMMENT ON COLUMN upstream_health.accepted_at IS
  'time of the first submit that the upstream accepted after an account error; not kept up to date otherwise';
COMMENT ON COLUMN upstream_health.circuit_open_until IS
  'the upstream rejected requests for a reason that probes do not detect, such as a suspended account; it counts as offline until then';

-- One row per rate-limited upstream, locked while submits are dispatched to it.
CREATE TABLE upstream_rate_limits (
  upstream                text        PRIMARY KEY,
  theoretical_arrival_at  timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON COLUMN upstream_rate_limits.theoretical_arrival_at IS
  'theoretical arrival time (GCRA) of the next submit; ahead of now by at most the allowed burst';
