-- The audit log of staff actions, and the adjustments of credits that wait for a second member of staff.

CREATE TABLE audit_entries (
  -- Orders the entries of an account, which are written under its lock. Clocks of processes differ.
  number            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid              uuid        NOT NULL UNIQUE,
  created_at        timestamptz NOT NULL,
  -- Exactly one of the two: the staff account, or the system user who ran a command.
  actor_account_id  bigint,
  command_user      text,
  role              text        NOT NULL,
  action            text        NOT NULL,
  -- The affected account. NULL: the action affects no single account.
  account_id        bigint,
  -- Kind and identifier of what was changed, such as generation 0190... .
  target_type       text        NOT NULL,
  target_id         text        NOT NULL,
  reason            text        NOT NULL,
  before            jsonb,
  after             jsonb,
  request_id        text,
  ip_address        text,
  CONSTRAINT audit_entries_actor_check CHECK ((actor_account_id IS NULL) <> (command_user IS NULL))
);
CREATE INDEX audit_entries_account_idx ON audit_entries (account_id, number) WHERE account_id IS NOT NULL;
CREATE INDEX audit_entries_actor_idx ON audit_entries (actor_account_id, number) WHERE actor_account_id IS NOT NULL;

CREATE FUNCTION reject_audit_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'audit_entries is append-only: % rejected', TG_OP;
  END
$$;
CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE ON audit_entries
  FOR EACH ROW EXECUTE FUNCTION reject_audit_rewrite();
CREATE TRIGGER audit_entries_no_truncate BEFORE TRUNCATE ON audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION reject_audit_rewrite();

CREATE TABLE staff_approvals (
  -- Names the adjustment, so that it is posted once. The form sends it: a form that is sent twice requests once.
  uuid          uuid        PRIMARY KEY,
  account_id    bigint      NOT NULL,
  credits       integer     NOT NULL,
  note          text        NOT NULL,
  reason        text        NOT NULL,
  requested_by  bigint      NOT NULL,
  requested_at  timestamptz NOT NULL,
  request_id    text        NOT NULL,
  ip_address    text        NOT NULL,
  decided_by    bigint,
  decided_at    timestamptz,
  outcome       text,
  CONSTRAINT staff_approvals_outcome_check CHECK (outcome IN ('approved', 'rejected')),
  CONSTRAINT staff_approvals_decided_check
    CHECK ((decided_at IS NULL) = (decided_by IS NULL) AND (decided_at IS NULL) = (outcome IS NULL)),
  CONSTRAINT staff_approvals_second_member_check CHECK (decided_by NOT IN (requested_by, account_id))
);
CREATE INDEX staff_approvals_pending_idx ON staff_approvals (requested_at) WHERE decided_at IS NULL;

-- Codes that staff create and customers redeem. Only their hashes are stored. A redemption is a ledger entry of the
-- account, whose effect key names the code and the account.
CREATE TABLE gift_codes (
  uuid        uuid         PRIMARY KEY,
  code_hash   bytea        NOT NULL UNIQUE,
  prefix      text         NOT NULL,
  credits     integer      NOT NULL CHECK (credits > 0),
  uses_max    integer      NOT NULL CHECK (uses_max > 0),
  uses        integer      NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND uses_max),
  expires_at  timestamptz,
  note        text         NOT NULL,
  created_by  bigint       REFERENCES accounts (id),
  role        text,
  created_at  timestamptz  NOT NULL,
  revoked_at  timestamptz
);
COMMENT ON COLUMN gift_codes.prefix IS 'the part of the code by which people recognize it';
COMMENT ON COLUMN gift_codes.credits IS 'credits of one redemption';
COMMENT ON COLUMN gift_codes.created_by IS 'the member of staff; NULL for a command';
COMMENT ON COLUMN gift_codes.role IS 'role of the member at that time';
COMMENT ON COLUMN gift_codes.note IS 'for staff; customers do not see it';
CREATE INDEX gift_codes_created_at_idx ON gift_codes (created_at);

CREATE TABLE upstream_trials (
  -- Names the trial, so that it is sent once. The form sends it: a form that is sent twice requests once.
  uuid            uuid        PRIMARY KEY,
  upstream        text        NOT NULL,
  prompt          text        NOT NULL,
  requested_by    bigint      NOT NULL,
  requested_at    timestamptz NOT NULL,
  started_at      timestamptz,
  ended_at        timestamptz,
  steps           text[]      NOT NULL DEFAULT '{}',
  media_token     uuid        NOT NULL DEFAULT gen_random_uuid(),
  output_path     text,
  thumbnail_path  text
);
COMMENT ON TABLE upstream_trials IS 'runs of no account, which staff sent to an upstream';
COMMENT ON COLUMN upstream_trials.started_at IS 'set once, before anything is sent: the provider charges for it';
CREATE INDEX upstream_trials_requested_at_idx ON upstream_trials (requested_at);
