-- Sums of the usage of accounts, keys and members, and spending limits. A charge updates them.

CREATE TABLE usage_days (
  account_id   bigint  NOT NULL,
  day          date    NOT NULL,
  model        text    NOT NULL,
  credits      bigint  NOT NULL,
  generations  integer NOT NULL,
  PRIMARY KEY (account_id, day, model)
) WITH (fillfactor = 70);

-- Sums since the account was created. Reading them costs the same however old the account is.
CREATE TABLE usage_totals (
  account_id   bigint NOT NULL,
  model        text   NOT NULL,
  credits      bigint NOT NULL,
  generations  bigint NOT NULL,
  PRIMARY KEY (account_id, model)
) WITH (fillfactor = 50);

-- Sums since the first generation of the key. Not in api_keys, whose rows every request reads and a charge must not
-- lock.
CREATE TABLE usage_keys (
  account_id   bigint  NOT NULL,
  key_number   integer NOT NULL,
  credits      bigint  NOT NULL,
  generations  bigint  NOT NULL,
  PRIMARY KEY (account_id, key_number)
) WITH (fillfactor = 50);

-- Sums of each member, of accounts that have had more than one. Without other members the totals are those of the
-- owner.
CREATE TABLE usage_members (
  account_id     bigint  NOT NULL,
  member_number  integer NOT NULL,
  credits        bigint  NOT NULL,
  generations    bigint  NOT NULL,
  PRIMARY KEY (account_id, member_number)
) WITH (fillfactor = 50);

CREATE TABLE spending_limits (
  account_id    bigint      NOT NULL REFERENCES accounts (id),
  number        integer     NOT NULL,
  key_number    integer,
  client_id     text,
  member_number integer,
  credits       integer     CHECK (credits > 0),
  period        text        NOT NULL CHECK (period IN ('day', 'month', 'total')),
  window_start  timestamptz,
  generation_count_at_window_start bigint NOT NULL,
  used          bigint      NOT NULL CHECK (used >= 0),
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, number),
  UNIQUE (account_id, key_number),
  UNIQUE (account_id, client_id),
  UNIQUE (account_id, member_number),
  CHECK (num_nonnulls(key_number, client_id, member_number) = 1),
  CHECK ((period = 'total') = (window_start IS NULL))
  -- Every charge of the credential or the member rewrites its row, in place.
) WITH (fillfactor = 50);
COMMENT ON TABLE spending_limits IS
  'most credits that an API key, an application with all its grants, or a member with all its sessions, keys and
   applications may spend; written under the lock of the account';
COMMENT ON COLUMN spending_limits.credits IS 'NULL: the limit was removed; the row stays';
COMMENT ON COLUMN spending_limits.window_start IS
  'start of the UTC day or month of the last charge, or of the last change of the period; NULL: the period is total';
COMMENT ON COLUMN spending_limits.generation_count_at_window_start IS
  'generation_count of the account when the window started: later generations belong to the window';
COMMENT ON COLUMN spending_limits.used IS
  'cost of the generations of the credential or the member in the window, less refunds; not maintained while credits is NULL';

-- Triggers, so that every statement that refunds a generation subtracts.
CREATE FUNCTION subtract_refund_from_usage_and_limits() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE usage_keys SET credits = credits - NEW.credits_charged
     WHERE account_id = NEW.account_id AND key_number = NEW.api_key_number;
    UPDATE usage_members SET credits = credits - NEW.credits_charged
     WHERE account_id = NEW.account_id AND member_number = NEW.member_number;
    -- Never below zero, so that a wrong count cannot stop a refund.
    UPDATE spending_limits SET used = greatest(used - NEW.credits_charged, 0)
     WHERE account_id = NEW.account_id AND credits IS NOT NULL
       AND (key_number = NEW.api_key_number OR client_id = NEW.oauth_client_id OR member_number = NEW.member_number)
       AND generation_count_at_window_start < NEW.number;
    RETURN NULL;
  END
$$;
CREATE TRIGGER generations_subtract_refund AFTER UPDATE OF status ON generations
  FOR EACH ROW WHEN (OLD.status <> 'failed' AND NEW.status = 'failed')
  EXECUTE FUNCTION subtract_refund_from_usage_and_limits();
CREATE TRIGGER generations_subtract_staff_refund AFTER UPDATE OF refunded_at ON generations
  FOR EACH ROW WHEN (OLD.refunded_at IS NULL AND NEW.refunded_at IS NOT NULL)
  EXECUTE FUNCTION subtract_refund_from_usage_and_limits();
