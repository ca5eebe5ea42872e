-- The security log, and the deletion of accounts by their owners.

CREATE TABLE security_events (
  id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id  bigint      NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- The member who caused it, or whose access changed. NULL: the service or its staff.
  member_number integer,
  event       text        NOT NULL,
  -- The network prefix and the browser of the request. Empty if the service or its staff caused the event.
  network     text        NOT NULL,
  user_agent  text        NOT NULL,
  details     jsonb       NOT NULL,
  created_at  timestamptz NOT NULL
);
COMMENT ON TABLE security_events IS
  'append-only; rows are deleted after their retention, and when the account is erased';
CREATE INDEX security_events_account_id_idx ON security_events (account_id, id);
CREATE INDEX security_events_created_at_idx ON security_events (created_at);

CREATE FUNCTION reject_security_event_update() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'security_events is append-only: % rejected', TG_OP;
  END
$$;
CREATE TRIGGER security_events_append_only BEFORE UPDATE ON security_events
  FOR EACH ROW EXECUTE FUNCTION reject_security_event_update();

CREATE TABLE account_deletions (
  account_id       bigint      PRIMARY KEY REFERENCES accounts (id),
  status           text        NOT NULL CHECK (status IN ('pending', 'undone', 'erasing')),
  requested_at     timestamptz NOT NULL,
  erase_at         timestamptz NOT NULL,
  subscription_id  bigint      REFERENCES subscriptions (id)
);
COMMENT ON TABLE account_deletions IS 'deletions that are not completed; a task carries out each step';
COMMENT ON COLUMN account_deletions.subscription_id IS
  'the subscription whose renewal the deletion stopped, which an undo resumes';
