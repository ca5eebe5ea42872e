-- Work that must be done after a commit: see shared/domain/tasks.

CREATE TABLE tasks (
  id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          text        NOT NULL,
  -- What the task is about, such as the uuid of a payout. A kind has one task of a key.
  key           text        NOT NULL,
  account_id    bigint      REFERENCES accounts (id),
  -- When it runs next; while it is leased, when the lease ends. NULL: given up.
  run_at        timestamptz,
  -- The run in progress, which alone may write the row.
  lease         uuid,
  -- Failed runs in a row.
  attempts      integer     NOT NULL DEFAULT 0,
  last_error    text,
  created_at    timestamptz NOT NULL,
  UNIQUE (kind, key),
  CHECK (run_at IS NOT NULL OR (lease IS NULL AND attempts > 0))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE tasks IS 'written in the transaction of its cause, deleted once it is done';
CREATE INDEX tasks_run_at_idx ON tasks (kind, run_at);
CREATE INDEX tasks_account_idx ON tasks (account_id);
-- Those that fail or were given up, for staff and metrics.
CREATE INDEX tasks_troubled_idx ON tasks (kind) WHERE attempts > 0;
