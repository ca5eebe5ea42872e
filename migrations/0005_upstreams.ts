import type { Knex } from 'knex';

/** Creates the health and the rate limit state of upstreams; workers write both. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE upstream_health (
      model                  text        NOT NULL,
      position               smallint    NOT NULL,
      upstream               text        NOT NULL,
      status                 text        NOT NULL CHECK (status IN ('online', 'degraded', 'offline')),
      consecutive_failures   integer     NOT NULL,
      consecutive_successes  integer     NOT NULL,
      probed_at              timestamptz NOT NULL,
      detail                 text        NOT NULL,
      circuit_open_until     timestamptz,
      PRIMARY KEY (model, position)
    ) WITH (fillfactor = 50);
    COMMENT ON COLUMN upstream_health.circuit_open_until IS
      'the upstream rejected requests for a reason that probes do not detect, such as a suspended account; it counts as offline until then';
    COMMENT ON COLUMN upstream_health.position IS '0: first choice of the model, 1: its fallback';

    -- One row per rate-limited upstream, locked while submits are dispatched to it.
    CREATE TABLE upstream_rate_limits (
      upstream                text        PRIMARY KEY,
      theoretical_arrival_at  timestamptz NOT NULL
    ) WITH (fillfactor = 50);
    COMMENT ON COLUMN upstream_rate_limits.theoretical_arrival_at IS
      'theoretical arrival time (GCRA) of the next submit; ahead of now by at most the allowed burst';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE upstream_rate_limits, upstream_health');
}
