-- The outbox of events, webhook endpoints with their deliveries, and e-mail messages.

CREATE TABLE outbox_events (
  id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid             uuid        NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  account_id       bigint      NOT NULL REFERENCES accounts (id),
  type             text        NOT NULL,
  -- What the event is about: a uuid or another key. An account has one event of a type and subject.
  subject          text        NOT NULL,
  -- Facts of the moment, which cannot be read later.
  details          jsonb       NOT NULL DEFAULT '{}',
  -- False if no e-mail follows from it, although one follows from others of its type.
  may_email        boolean     NOT NULL DEFAULT true,
  -- The message that webhooks send, built when the event is dispatched.
  body             text,
  created_at       timestamptz NOT NULL,
  dispatched_at    timestamptz,
  UNIQUE (account_id, type, subject)
);
COMMENT ON TABLE outbox_events IS
  'events that the transaction of a change writes if a webhook or an e-mail follows; deleted after 30 days';
CREATE INDEX outbox_events_created_at_idx ON outbox_events (created_at);

-- Many statements record events. Each event has the task that dispatches it.
CREATE FUNCTION schedule_event_dispatch() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO tasks (kind, key, account_id, run_at, created_at)
    VALUES ('event.dispatch', NEW.id, NEW.account_id, NEW.created_at, NEW.created_at);
    RETURN NULL;
  END
$$;
CREATE TRIGGER outbox_events_dispatch AFTER INSERT ON outbox_events
  FOR EACH ROW WHEN (NEW.dispatched_at IS NULL) EXECUTE FUNCTION schedule_event_dispatch();

CREATE TABLE webhook_endpoints (
  id                    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid                  uuid        NOT NULL UNIQUE,
  account_id            bigint      NOT NULL REFERENCES accounts (id),
  -- NULL: the default endpoint, whose deliveries go to the webhook_url of single generations.
  url                   text,
  -- NULL: all types.
  events                text[],
  after_event_id        bigint      NOT NULL DEFAULT coalesce(pg_sequence_last_value('outbox_events_id_seq'), 0),
  description           text        NOT NULL DEFAULT '',
  -- Keys for the signatures, encrypted if SECRET_KEY is set.
  secret                text        NOT NULL,
  private_key           text        NOT NULL,
  public_key            text        NOT NULL,
  -- Keys before the last rotation, which sign as well until previous_until.
  previous_secret       text,
  previous_private_key  text,
  previous_until        timestamptz,
  -- First of the failed attempts since the last successful one.
  failing_since         timestamptz,
  disabled_at           timestamptz,
  disabled_reason       text        CHECK (disabled_reason IN ('owner', 'gone', 'failing')),
  -- When a delivery can be leased: the first one that waits is due, or the first lease ends. NULL: none is pending. Of
  -- those that are due while as many as allowed are leased, the outcome of the next attempt makes it due again.
  next_delivery_at      timestamptz,
  -- Deliveries that may be leased at a time. Doubles with successes; 1 again when none is.
  concurrency           smallint    NOT NULL DEFAULT 1,
  created_at            timestamptz NOT NULL,
  updated_at            timestamptz NOT NULL,
  CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
  CHECK ((previous_until IS NULL) = (previous_secret IS NULL)),
  CHECK ((previous_until IS NULL) = (previous_private_key IS NULL))
) WITH (fillfactor = 70);
COMMENT ON TABLE webhook_endpoints IS 'each is also the queue of its deliveries';
COMMENT ON COLUMN webhook_endpoints.after_event_id IS
  'last event that was recorded before it was created or enabled; it receives those with a larger id';
CREATE INDEX webhook_endpoints_account_idx ON webhook_endpoints (account_id, id);
CREATE UNIQUE INDEX webhook_endpoints_default_unique ON webhook_endpoints (account_id) WHERE url IS NULL;
CREATE INDEX webhook_endpoints_due_idx ON webhook_endpoints (next_delivery_at)
  WHERE next_delivery_at IS NOT NULL AND failing_since IS NULL;
CREATE INDEX webhook_endpoints_failing_due_idx ON webhook_endpoints (next_delivery_at)
  WHERE next_delivery_at IS NOT NULL AND failing_since IS NOT NULL;

CREATE TABLE webhook_deliveries (
  id                bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid              uuid        NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  endpoint_id       bigint      NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
  event_id          bigint      NOT NULL REFERENCES outbox_events (id) ON DELETE CASCADE,
  -- Of the default endpoint only: the webhook_url of the generation.
  url               text,
  status            text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'failed')),
  attempts          integer     NOT NULL DEFAULT 0,
  next_attempt_at   timestamptz,
  -- A process attempts it, until then. Both identify its lease.
  leased_by         uuid,
  leased_until      timestamptz,
  last_attempt_at   timestamptz,
  last_status       integer,
  last_error        text,
  -- The latest attempts, oldest first; see DeliveryAttempt in shared/tables.
  attempt_log       jsonb       NOT NULL DEFAULT '[]',
  delivered_at      timestamptz,
  created_at        timestamptz NOT NULL,
  UNIQUE (endpoint_id, event_id),
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
  CHECK (leased_until IS NULL OR status = 'pending'),
  CHECK ((leased_until IS NULL) = (leased_by IS NULL)),
  CHECK ((status = 'succeeded') = (delivered_at IS NOT NULL))
) WITH (fillfactor = 85);
CREATE INDEX webhook_deliveries_event_idx ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_endpoint_idx ON webhook_deliveries (endpoint_id, id);
-- Few of an endpoint's deliveries fail. Otherwise a list of them would read all the others.
CREATE INDEX webhook_deliveries_failed_idx ON webhook_deliveries (endpoint_id, id) WHERE status = 'failed';
-- Those that are leased, then those that wait, in their order.
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, leased_until, next_attempt_at, id)
  WHERE status = 'pending';

CREATE TABLE emails (
  id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Part of the Message-ID.
  uuid             uuid        NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  account_id       bigint      NOT NULL REFERENCES accounts (id),
  kind             text        NOT NULL,
  -- What caused it. An account receives one message of a kind and cause.
  cause            text        NOT NULL,
  params           jsonb       NOT NULL DEFAULT '{}',
  status           text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed')),
  last_error       text,
  created_at       timestamptz NOT NULL,
  sent_at          timestamptz,
  UNIQUE (account_id, kind, cause),
  CHECK ((status = 'sent') = (sent_at IS NOT NULL))
);
COMMENT ON TABLE emails IS
  'messages; params of those to other people than the owner contain the address; deleted after 90 days';
CREATE INDEX emails_created_at_idx ON emails (created_at);
