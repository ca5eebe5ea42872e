import type { Knex } from 'knex';

/** Several upstreams a model, idempotency keys, and files that are removed with their generation. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE generations
      -- Who was asked to make it, and by which of their models.
      ADD COLUMN upstream             text,
      ADD COLUMN upstream_model       text,
      ADD COLUMN provider_cost_cents  numeric(12, 4) CHECK (provider_cost_cents >= 0),
      ADD COLUMN idempotency_key      text;
    COMMENT ON COLUMN generations.provider_cost_cents IS
      'what the finished run cost us, where its price is known; it may be a fraction of a cent';
    -- Until now there was one upstream.
    UPDATE generations SET upstream = 'fal', upstream_model = ''
     WHERE upstream_handle IS NOT NULL AND status = 'queued';
    CREATE UNIQUE INDEX generations_idempotency_key_unique ON generations (account_id, idempotency_key)
      WHERE idempotency_key IS NOT NULL;
    CREATE INDEX generations_idempotency_key_created_at_idx ON generations (created_at) WHERE idempotency_key IS NOT NULL;

    -- The health of each upstream of a model, first choice and fallback; workers fill it. model_health, in whose place
    -- it comes, stays for processes of the version before, which may still be running.
    CREATE TABLE upstream_health (
      model        text        NOT NULL,
      position     smallint    NOT NULL,
      upstream     text        NOT NULL,
      status       text        NOT NULL CHECK (status IN ('online', 'degraded', 'offline')),
      consecutive_failures   integer     NOT NULL,
      consecutive_successes  integer     NOT NULL,
      probed_at    timestamptz NOT NULL,
      detail       text        NOT NULL,
      circuit_open_until  timestamptz,
      PRIMARY KEY (model, position)
    ) WITH (fillfactor = 50);
    COMMENT ON COLUMN upstream_health.circuit_open_until IS
      'it turned us away for reasons that probes do not see, such as our account''s: it counts as offline until then';
    COMMENT ON COLUMN upstream_health.position IS '0 is the first choice of the model, 1 its fallback';

    -- Locked by whoever hands jobs to an upstream whose use is limited, so that workers take turns.
    CREATE TABLE upstream_rate_limits (
      upstream       text        PRIMARY KEY,
      theoretical_arrival_at timestamptz NOT NULL
    ) WITH (fillfactor = 50);
    COMMENT ON COLUMN upstream_rate_limits.theoretical_arrival_at IS
      'when the next submit is due if they come evenly; it may lie ahead of now as far as no burst is exceeded';

    -- Files to be removed: all that lies at the secret path of a generation. The row goes when the files are gone.
    CREATE TABLE media_deletions (
      media_token  uuid        PRIMARY KEY,
      next_attempt_at       timestamptz NOT NULL
    );
    CREATE INDEX media_deletions_next_attempt_idx ON media_deletions (next_attempt_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE media_deletions, upstream_rate_limits, upstream_health;
    ALTER TABLE generations
      DROP COLUMN upstream, DROP COLUMN upstream_model, DROP COLUMN provider_cost_cents, DROP COLUMN idempotency_key;
  `);
}
