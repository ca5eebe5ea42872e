-- Top-ups, invoices, owed refunds, and the events and the sync of the payment processor.

CREATE TABLE topups (
  uuid                      uuid        PRIMARY KEY,
  account_id                bigint      NOT NULL REFERENCES accounts (id),
  member_number             integer,
  kind                      text        NOT NULL CHECK (kind IN ('manual', 'automatic')),
  status                    text        NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
  amount_cents              integer     NOT NULL CHECK (amount_cents BETWEEN 5000 AND 1000000),
  net_cents                 integer,
  tax_cents                 integer,
  discount_cents            integer,
  credits                   integer     NOT NULL CHECK (credits > 0),
  needed_credits            integer,
  stripe_session_id         text        UNIQUE,
  stripe_payment_intent_id  text        UNIQUE,
  failure_code              text,
  created_at                timestamptz NOT NULL,
  completed_at              timestamptz,

  -- What refunds and disputes have returned, and the credits that were taken back for it.
  is_disputed       boolean NOT NULL DEFAULT false,
  credits_reversed  integer NOT NULL DEFAULT 0 CHECK (credits_reversed BETWEEN 0 AND credits),
  reversal_count    integer NOT NULL DEFAULT 0,
  reversed_cents    integer NOT NULL DEFAULT 0 CHECK (reversed_cents BETWEEN 0 AND amount_cents),
  credits_owed      integer GENERATED ALWAYS AS
    (cast(credits::bigint * reversed_cents / coalesce(net_cents, amount_cents) AS integer) - credits_reversed) STORED,
  kept_cents        integer GENERATED ALWAYS AS (coalesce(net_cents, amount_cents) - reversed_cents) STORED,

  sync_version  bigint NOT NULL DEFAULT 0
);
COMMENT ON COLUMN topups.member_number IS 'the member who bought it; NULL: an automatic one';
COMMENT ON COLUMN topups.net_cents IS
  'paid amount without tax and after discounts, which the credits are bought with; null until it is paid';
COMMENT ON COLUMN topups.credits IS 'fixed when the payment starts, at the rate of the plan at that time';
COMMENT ON COLUMN topups.needed_credits IS
  'balance that the create needs for which it is charged; null for a manual one, and below the threshold';
COMMENT ON COLUMN topups.completed_at IS 'when the money was collected, at the processor; of a failed one when that became known';
COMMENT ON COLUMN topups.is_disputed IS 'whether the payment was disputed at the last sync';
COMMENT ON COLUMN topups.reversed_cents IS
  'money refunded or disputed; fewer credits are taken back when the balance does not cover it';
COMMENT ON COLUMN topups.kept_cents IS 'net amount that was neither refunded nor is disputed';
COMMENT ON COLUMN topups.credits_reversed IS
  'credits taken back after refunds and disputes, in reversal_count entries';
COMMENT ON COLUMN topups.credits_owed IS
  'credits of the reversed amount that are not taken back yet; negative: to be returned after a dispute was won';
CREATE INDEX topups_account_id_idx ON topups (account_id, created_at);
CREATE UNIQUE INDEX topups_one_pending_automatic_per_account ON topups (account_id)
  WHERE kind = 'automatic' AND status = 'pending';
CREATE INDEX topups_pending_idx ON topups (kind, created_at) WHERE status = 'pending';
-- Paid top-ups by day, in the staff metrics.
CREATE INDEX topups_completed_at_idx ON topups (completed_at) WHERE status = 'succeeded';
-- The few top-ups that owe credits. Each refund of a generation looks for those of its account.
CREATE INDEX topups_owed_idx ON topups (account_id) WHERE credits_owed > 0;

-- Clears a recorded trigger of an automatic top-up once its condition no longer holds. A database trigger covers every
-- statement that posts credits: a statement that omitted the check would charge a card without a burn. A suspended
-- account, or one that is being deleted, has none: a reinstatement must not charge without another burn.
CREATE FUNCTION clear_auto_topup_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.auto_topup_triggered_at := NULL;
    RETURN NEW;
  END
$$;
CREATE TRIGGER accounts_clear_auto_topup_trigger BEFORE UPDATE ON accounts
  FOR EACH ROW
  WHEN (NEW.auto_topup_triggered_at IS NOT NULL
        AND (NEW.balance >= NEW.auto_topup_threshold_credits
             OR NEW.auto_topup_threshold_credits <> OLD.auto_topup_threshold_credits
             OR NOT NEW.auto_topup_enabled
             OR NEW.plan_slug IS NULL
             OR NEW.suspended_at IS NOT NULL
             OR NEW.deletion_requested_at IS NOT NULL))
  EXECUTE FUNCTION clear_auto_topup_trigger();

-- One row per payment to return: a refund of an invoice returns all of its payments.
CREATE TABLE owed_refunds (
  key           text        GENERATED ALWAYS AS (coalesce(invoice_id, topup_uuid::text)) STORED PRIMARY KEY,
  payment       text        GENERATED ALWAYS AS (coalesce('invoice ' || invoice_id, 'top-up ' || topup_uuid::text)) STORED,
  invoice_id    text,
  topup_uuid    uuid        REFERENCES topups (uuid),
  account_id    bigint      NOT NULL REFERENCES accounts (id),
  cause         text        NOT NULL CHECK (cause IN ('staff', 'erased', 'unused')),
  status        text        NOT NULL DEFAULT 'owed' CHECK (status IN ('owed', 'refunded', 'rejected', 'closed')),
  last_error    text,
  created_at    timestamptz NOT NULL,
  completed_at  timestamptz,
  CHECK (num_nonnulls(invoice_id, topup_uuid) = 1),
  CHECK ((status = 'owed') = (completed_at IS NULL))
);
COMMENT ON TABLE owed_refunds IS 'payments to return to customers; a task issues each refund at the processor';
COMMENT ON COLUMN owed_refunds.invoice_id IS 'the id of the invoice at the processor';
COMMENT ON COLUMN owed_refunds.cause IS
  'staff: requested by staff; erased: paid for an account that is erased; unused: an invoice that bought nothing';
CREATE INDEX owed_refunds_account_idx ON owed_refunds (account_id);
CREATE INDEX owed_refunds_open_idx ON owed_refunds (created_at) WHERE status IN ('owed', 'rejected');

CREATE TABLE invoices (
  uuid                uuid        PRIMARY KEY,
  account_id          bigint      NOT NULL REFERENCES accounts (id),
  kind                text        NOT NULL CHECK (kind IN ('subscription', 'topup')),
  subscription_id     bigint      REFERENCES subscriptions (id),
  topup_uuid          uuid        UNIQUE REFERENCES topups (uuid),
  stripe_invoice_id   text        UNIQUE,
  number              text,
  description         text        NOT NULL,
  status              text        NOT NULL CHECK (status IN ('open', 'paid', 'void', 'uncollectible')),
  currency            text        NOT NULL,
  total_cents         bigint      NOT NULL,
  tax_cents           bigint      NOT NULL,
  discount_cents      bigint      NOT NULL,
  net_cents           bigint      NOT NULL,
  refunded_cents      bigint      NOT NULL DEFAULT 0,
  hosted_invoice_url  text,
  pdf_url             text,
  created_at          timestamptz NOT NULL,
  paid_at             timestamptz,
  sync_version        bigint      NOT NULL DEFAULT 0,
  awaits_document     boolean     NOT NULL DEFAULT false,
  commission_problem  text,
  commission_due_at   timestamptz,
  CHECK ((kind = 'topup') = (topup_uuid IS NOT NULL)),
  CHECK ((kind = 'subscription') = (subscription_id IS NOT NULL)),
  CHECK (net_cents = total_cents - tax_cents)
);
COMMENT ON COLUMN invoices.stripe_invoice_id IS
  'null until the payment processor has issued it, and for simulated payments';
COMMENT ON COLUMN invoices.total_cents IS 'with tax and after discounts';
COMMENT ON COLUMN invoices.refunded_cents IS 'part of the total that was refunded or is disputed';
COMMENT ON COLUMN invoices.awaits_document IS 'a paid top-up whose invoice the processor has yet to issue';
COMMENT ON COLUMN invoices.commission_problem IS 'why it has no commission; read again at commission_due_at, or never';
CREATE INDEX invoices_account_id_idx ON invoices (account_id, created_at DESC, uuid DESC);
CREATE INDEX invoices_subscription_id_idx ON invoices (subscription_id) WHERE status = 'open';

CREATE TABLE payment_events (
  event_id      text        PRIMARY KEY,
  type          text        NOT NULL,
  object_id     text        NOT NULL,
  payload       text        NOT NULL,
  received_at   timestamptz NOT NULL,
  processed_at  timestamptz
);
CREATE INDEX payment_events_unprocessed_idx ON payment_events (received_at) WHERE processed_at IS NULL;
CREATE INDEX payment_events_received_idx ON payment_events (received_at);

-- Orders the snapshots that are read from the payment processor.
CREATE SEQUENCE sync_versions;

-- The time up to which each subject has been reconciled with the payment processor.
CREATE TABLE sync_cursors (
  subject         text        PRIMARY KEY,
  synced_through  timestamptz NOT NULL
);
