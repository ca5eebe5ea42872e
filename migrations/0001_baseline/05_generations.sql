-- Generations, and the counts of deleted ones.

-- No foreign keys, for the reason given at ledger_entries.
CREATE TABLE generations (
  uuid                  uuid        NOT NULL,
  account_id            bigint      NOT NULL,
  number                bigint      NOT NULL,
  model                 text        NOT NULL,
  prompt                text        NOT NULL,
  params                jsonb       NOT NULL,
  metadata              jsonb,
  webhook_url           text,
  idempotency_key       text,
  member_number         integer,
  api_key_number        integer,
  oauth_client_id       text,
  catalog_id            bigint,
  is_test               boolean     NOT NULL DEFAULT false,
  status                text        NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'succeeded', 'failed')),
  credits_charged       integer     NOT NULL,
  plan_credits_charged  integer     NOT NULL CHECK (plan_credits_charged BETWEEN 0 AND credits_charged),
  created_at            timestamptz NOT NULL,
  deadline_at           timestamptz NOT NULL,
  cancel_requested_at   timestamptz,

  -- The result. Paths are relative to CDN_URL.
  completed_at         timestamptz,
  output_path          text,
  thumbnail_path       text,
  more_outputs         jsonb,
  is_watermarked       boolean     NOT NULL DEFAULT false,
  error_message        text,
  provider_cost_cents  numeric(12, 4) CHECK (provider_cost_cents >= 0),
  refunded_at          timestamptz,
  deleted_at           timestamptz,
  purged_at            timestamptz,

  -- Execution state, written by the workers.
  next_attempt_at      timestamptz NOT NULL,
  leased_until         timestamptz,
  submit_started_at    timestamptz,
  submitted_at         timestamptz,
  unconfirmed_submits  smallint    NOT NULL DEFAULT 0,
  upstream             text,
  upstream_model       text,
  upstream_handle      jsonb,
  upstream_output      jsonb,
  account_error_at     timestamptz,
  polled_at            timestamptz,
  next_poll_at         timestamptz,
  media_token          uuid,
  upstream_order       smallint[],
  failed_over_at       timestamptz,

  -- Uuids ascend, so that new rows are adjacent in the index.
  PRIMARY KEY (uuid, account_id),
  CONSTRAINT generations_completed_at_check CHECK ((status = 'queued') = (completed_at IS NULL)),
  CONSTRAINT generations_output_path_check CHECK ((status = 'succeeded') = (output_path IS NOT NULL)),
  CONSTRAINT generations_more_outputs_check CHECK (more_outputs IS NULL OR status = 'succeeded'),
  CONSTRAINT generations_upstream_handle_check
    CHECK (upstream_handle IS NULL OR (upstream IS NOT NULL AND upstream_model IS NOT NULL)),
  CONSTRAINT generations_upstream_output_check
    CHECK (upstream_output IS NULL OR (status = 'queued' AND upstream_handle IS NOT NULL)),
  CONSTRAINT generations_test_price_check CHECK (credits_charged >= 0 AND is_test = (credits_charged = 0)),
  CONSTRAINT generations_test_upstream_check CHECK (upstream IS NULL OR is_test = (upstream = 'test-mode'))
  -- Until a generation ends, claim, submit and poll rewrite its row. With space in its page that happens in place:
  -- without new entries in each index.
) WITH (fillfactor = 45);
COMMENT ON COLUMN generations.metadata IS 'pairs of strings that the owner has attached; NULL: none';
COMMENT ON COLUMN generations.webhook_url IS 'receives the event of its end, beside the endpoints of the account';
COMMENT ON COLUMN generations.member_number IS
  'the member who created it, or the key or application with which it was created; of the live account, for a test one';
COMMENT ON COLUMN generations.api_key_number IS
  'number of the API key that created it; NULL: a session or an assistant';
COMMENT ON COLUMN generations.oauth_client_id IS
  'application that created it with an access token; NULL: an API key or a session';
COMMENT ON COLUMN generations.catalog_id IS 'release that it was priced by and is run by; NULL: the default models';
COMMENT ON COLUMN generations.is_test IS 'of a test account: costs nothing, and is run by the test upstream only';
COMMENT ON COLUMN generations.cancel_requested_at IS
  'when its owner first asked to cancel it; it may still succeed if the upstream had started it';
COMMENT ON COLUMN generations.provider_cost_cents IS
  'cost of the completed run where its price is known; may be a fraction of a cent';
COMMENT ON COLUMN generations.refunded_at IS
  'when staff refunded it after it had succeeded; NULL for a failed one, which is refunded when it ends';
COMMENT ON COLUMN generations.purged_at IS 'when prompt, params and error_message were emptied after the deletion';
COMMENT ON COLUMN generations.next_attempt_at IS
  'when the sweep enqueues the generation again unless it makes progress before that';
COMMENT ON COLUMN generations.submitted_at IS 'start of the submission that the upstream accepted';
COMMENT ON COLUMN generations.upstream IS 'the upstream that the generation was submitted to last';
COMMENT ON COLUMN generations.upstream_model IS 'the name of the model at that upstream';
COMMENT ON COLUMN generations.more_outputs IS
  'output_path and thumbnail_path of each file after the first one; NULL: there is one file';
COMMENT ON COLUMN generations.upstream_output IS
  'where the outputs are: set once the run has ended at the upstream, until they are stored';
COMMENT ON COLUMN generations.upstream_order IS
  'positions of the upstreams of its model in the order in which they are tried; NULL: that of the catalog';
COMMENT ON COLUMN generations.failed_over_at IS
  'when a run failed and the next upstream was tried; a second failure ends the generation';
COMMENT ON COLUMN generations.account_error_at IS
  'first time at which an upstream rejected our account; if it accepts others afterwards, the generation is at fault';
CREATE UNIQUE INDEX generations_account_number_unique ON generations (account_id, number) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX generations_idempotency_key_unique ON generations (account_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX generations_idempotency_key_created_at_idx ON generations (created_at) WHERE idempotency_key IS NOT NULL;
-- Queued generations are few and ordered by time through their uuid. next_attempt_at is left out of the index so that
-- state transitions update their row in place.
CREATE INDEX generations_queued_idx ON generations (uuid) WHERE status = 'queued';
-- Filtered lists. A combination of values is one range of the index, ordered by time, and the number makes it covering:
-- matches are counted without reading rows.
CREATE INDEX generations_filter_idx ON generations (account_id, status, model, created_at, number)
  WHERE deleted_at IS NULL;
-- Searches by metadata. The account is part of each indexed path, so a search reads entries of its account only. Rows
-- without metadata, which are most, are not in it.
CREATE INDEX generations_metadata_idx ON generations
  USING gin (jsonb_set('{}', ARRAY[account_id::text], metadata) jsonb_path_ops) WHERE metadata IS NOT NULL;
-- The usage of an application. Generations of keys and sessions, which are most, are not in it.
CREATE INDEX generations_oauth_client_idx ON generations (account_id, oauth_client_id, number)
  WHERE oauth_client_id IS NOT NULL;
-- Test generations are few, and are found by age to be deleted.
CREATE INDEX generations_test_idx ON generations (uuid) WHERE is_test AND deleted_at IS NULL;
-- Refunds by staff are few. The staff metrics subtract them from the hourly sums.
CREATE INDEX generations_refunded_idx ON generations (uuid) WHERE refunded_at IS NOT NULL;
CREATE INDEX generations_purge_idx ON generations (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;
-- Those of an account that is erased, without reading what other accounts have deleted.
CREATE INDEX generations_account_purge_idx ON generations (account_id) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

-- Deleted generations per block of 512 numbers. A page at some distance from the newest generation is found from these
-- counts, without reading the rows between.
CREATE TABLE generation_deletion_counts (
  account_id  bigint   NOT NULL,
  block       bigint   NOT NULL,
  deleted     integer  NOT NULL,
  PRIMARY KEY (account_id, block)
) WITH (fillfactor = 80);
