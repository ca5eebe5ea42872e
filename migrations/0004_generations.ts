import type { Knex } from 'knex';

/** Creates generations, the counts of deleted ones, and the queue of media files to delete. */
export async function up(knex: Knex): Promise<void> {
  // No foreign keys here, for the reason given in 0003_ledger.
  await knex.raw(`
    CREATE TABLE generations (
      uuid                  uuid        NOT NULL,
      account_id            bigint      NOT NULL,
      number                bigint      NOT NULL,
      model                 text        NOT NULL,
      prompt                text        NOT NULL,
      params                jsonb       NOT NULL,
      idempotency_key       text,
      status                text        NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'succeeded', 'failed')),
      credits_charged       integer     NOT NULL CHECK (credits_charged > 0),
      plan_credits_charged  integer     NOT NULL CHECK (plan_credits_charged BETWEEN 0 AND credits_charged),
      created_at            timestamptz NOT NULL,
      deadline_at           timestamptz NOT NULL,

      -- The result. Paths are relative to CDN_URL.
      completed_at          timestamptz,
      output_path           text,
      thumbnail_path        text,
      is_watermarked        boolean     NOT NULL DEFAULT false,
      error_message         text,
      provider_cost_cents   numeric(12, 4) CHECK (provider_cost_cents >= 0),
      deleted_at            timestamptz,
      purged_at             timestamptz,

      -- Execution state, written by the workers.
      next_attempt_at       timestamptz NOT NULL,
      leased_until          timestamptz,
      submit_started_at     timestamptz,
      unconfirmed_submits   smallint    NOT NULL DEFAULT 0,
      upstream              text,
      upstream_model        text,
      upstream_handle       jsonb,
      polled_at             timestamptz,
      next_poll_at          timestamptz,
      media_token           uuid,

      -- The account is in every key, so that the table can be partitioned by it. Uuids ascend, so that new rows are
      -- adjacent in the index.
      PRIMARY KEY (uuid, account_id),
      CONSTRAINT generations_completed_at_check CHECK ((status = 'queued') = (completed_at IS NULL)),
      CONSTRAINT generations_output_path_check CHECK ((status = 'succeeded') = (output_path IS NOT NULL)),
      CONSTRAINT generations_upstream_handle_check
        CHECK (upstream_handle IS NULL OR (upstream IS NOT NULL AND upstream_model IS NOT NULL))
    ) WITH (fillfactor = 80);
    COMMENT ON COLUMN generations.provider_cost_cents IS
      'cost of the completed run where its price is known; may be a fraction of a cent';
    COMMENT ON COLUMN generations.purged_at IS 'when prompt, params and error_message were emptied after the deletion';
    COMMENT ON COLUMN generations.next_attempt_at IS
      'when the sweep enqueues the generation again unless it makes progress before that';
    COMMENT ON COLUMN generations.upstream IS 'the upstream that the generation was submitted to last';
    COMMENT ON COLUMN generations.upstream_model IS 'the name of the model at that upstream';
    CREATE UNIQUE INDEX generations_account_number_unique ON generations (account_id, number) WHERE deleted_at IS NULL;
    CREATE UNIQUE INDEX generations_idempotency_key_unique ON generations (account_id, idempotency_key)
      WHERE idempotency_key IS NOT NULL;
    CREATE INDEX generations_idempotency_key_created_at_idx ON generations (created_at) WHERE idempotency_key IS NOT NULL;
    -- Queued generations are few and ordered by time through their uuid. next_attempt_at is left out of the index so that
    -- state transitions update their row in place.
    CREATE INDEX generations_queued_idx ON generations (uuid) WHERE status = 'queued';
    CREATE INDEX generations_purge_idx ON generations (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

    -- Deleted generations per block of 256^level numbers. A page at some distance from the newest generation is found
    -- from these counts, without reading the rows between.
    CREATE TABLE generation_deletion_counts (
      account_id  bigint   NOT NULL,
      level       smallint NOT NULL,
      block       bigint   NOT NULL,
      deleted     integer  NOT NULL,
      PRIMARY KEY (account_id, level, block)
    ) WITH (fillfactor = 80);

    -- Media to delete: all files at the secret path of a generation. The row is removed once the files are deleted.
    CREATE TABLE media_deletions (
      media_token      uuid        PRIMARY KEY,
      next_attempt_at  timestamptz NOT NULL
    );
    CREATE INDEX media_deletions_next_attempt_idx ON media_deletions (next_attempt_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE media_deletions, generation_deletion_counts, generations');
}
