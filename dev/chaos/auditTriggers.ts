/**
 * An audit log of chaos in the service's database, written by triggers in the service's transactions: prompts, images and events
 * that the service may purge, the times of top-up changes, of the ends of generations and of events by the clock of
 * Postgres, which no fault moves, suspensions that kept the trigger of an automatic top-up, and the commits after which the
 * use of a spending limit was wrong.
 */
export const AUDIT_TRIGGERS_SQL = `
  CREATE SCHEMA chaos;
  CREATE TABLE chaos.prompts (generation uuid PRIMARY KEY, prompt text NOT NULL);
  CREATE FUNCTION chaos.log_prompt() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.prompts VALUES (NEW.uuid, NEW.prompt);
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_log_prompt AFTER INSERT ON generations FOR EACH ROW EXECUTE FUNCTION chaos.log_prompt();

  CREATE TABLE chaos.topups (topup uuid NOT NULL, status text NOT NULL, at timestamptz NOT NULL);
  CREATE FUNCTION chaos.log_topup() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' OR OLD.status <> NEW.status THEN
      INSERT INTO chaos.topups VALUES (NEW.uuid, NEW.status, clock_timestamp());
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_log_topup AFTER INSERT OR UPDATE ON topups FOR EACH ROW EXECUTE FUNCTION chaos.log_topup();

  CREATE TABLE chaos.kept_triggers (account bigint NOT NULL, triggered_at timestamptz NOT NULL, suspended_at timestamptz NOT NULL);
  CREATE FUNCTION chaos.log_kept_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.kept_triggers VALUES (NEW.id, NEW.auto_topup_triggered_at, NEW.suspended_at);
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_log_kept_trigger AFTER UPDATE OF suspended_at ON accounts FOR EACH ROW
    WHEN (NEW.suspended_at IS NOT NULL AND NEW.auto_topup_triggered_at IS NOT NULL) EXECUTE FUNCTION chaos.log_kept_trigger();

  CREATE TABLE chaos.ends (generation uuid NOT NULL, account bigint NOT NULL, status text NOT NULL, began_at timestamptz NOT NULL);
  CREATE FUNCTION chaos.log_end() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.ends VALUES (NEW.uuid, NEW.account_id, NEW.status, statement_timestamp());
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_log_end AFTER UPDATE OF status ON generations FOR EACH ROW
    WHEN (OLD.status = 'queued' AND NEW.status <> 'queued') EXECUTE FUNCTION chaos.log_end();

  CREATE TABLE chaos.events (
    event uuid PRIMARY KEY, account bigint NOT NULL, type text NOT NULL, subject text NOT NULL,
    recorded_at timestamptz NOT NULL, dispatched_at timestamptz
  );
  CREATE FUNCTION chaos.log_event() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      INSERT INTO chaos.events VALUES (NEW.uuid, NEW.account_id, NEW.type, NEW.subject, statement_timestamp());
    ELSIF OLD.dispatched_at IS NULL AND NEW.dispatched_at IS NOT NULL THEN
      UPDATE chaos.events SET dispatched_at = clock_timestamp() WHERE event = NEW.uuid;
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_log_event AFTER INSERT OR UPDATE ON outbox_events FOR EACH ROW EXECUTE FUNCTION chaos.log_event();

  CREATE TABLE chaos.inputs (generation uuid NOT NULL, upload uuid NOT NULL);
  CREATE FUNCTION chaos.log_input() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.inputs VALUES (NEW.generation_uuid, NEW.upload_uuid);
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_log_input AFTER INSERT ON generation_inputs FOR EACH ROW EXECUTE FUNCTION chaos.log_input();

  -- A message is created by the clock of the service, and fails by that of Postgres, which no fault moves.
  CREATE TABLE chaos.emails (email uuid PRIMARY KEY, account bigint NOT NULL, kind text NOT NULL, recipient text,
                             created_at timestamptz NOT NULL, failed_at timestamptz);
  CREATE FUNCTION chaos.log_email() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      INSERT INTO chaos.emails (email, account, kind, recipient, created_at)
      VALUES (NEW.uuid, NEW.account_id, NEW.kind, NEW.params ->> 'recipient_email', NEW.created_at);
    ELSIF NEW.status = 'failed' THEN
      UPDATE chaos.emails SET failed_at = clock_timestamp() WHERE email = NEW.uuid;
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_log_email AFTER INSERT OR UPDATE ON emails FOR EACH ROW EXECUTE FUNCTION chaos.log_email();

  CREATE TABLE chaos.wrong_windows (account bigint NOT NULL, invariant text NOT NULL, detail text NOT NULL);
  CREATE FUNCTION chaos.check_window() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.wrong_windows
    SELECT l.account_id, 'windows-match-at-every-commit',
           format('limit %s, %s since %s: used %s; its generations after number %s cost %s', l.number, l.period,
                  coalesce(l.window_start::text, 'the start'), l.used, l.generation_count_at_window_start, paid.credits)
      FROM spending_limits l
     CROSS JOIN LATERAL (
           SELECT coalesce(sum(g.credits_charged), 0) AS credits FROM generations g
            WHERE g.account_id = l.account_id AND g.number > l.generation_count_at_window_start
              AND (g.api_key_number = l.key_number OR g.oauth_client_id = l.client_id OR g.member_number = l.member_number)
              AND g.status <> 'failed' AND g.refunded_at IS NULL) paid
     WHERE l.account_id = NEW.account_id AND l.number = NEW.number AND l.credits IS NOT NULL AND l.used <> paid.credits;
    RETURN NULL;
  END $$;
  -- At the commit, which still holds the lock of the account.
  CREATE CONSTRAINT TRIGGER chaos_check_window AFTER INSERT OR UPDATE ON spending_limits DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION chaos.check_window();
  CREATE FUNCTION chaos.record_excess() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.wrong_windows VALUES (NEW.account_id, 'charges-keep-limits',
      format('limit %s of %s credits, %s: a charge raised its use from %s to %s', NEW.number, NEW.credits, NEW.period, OLD.used, NEW.used));
    RETURN NULL;
  END $$;
  -- By a charge, and not by a change of the limit.
  CREATE TRIGGER chaos_record_excess AFTER UPDATE ON spending_limits FOR EACH ROW
    WHEN (NEW.used > OLD.used AND NEW.used > NEW.credits AND NEW.credits = OLD.credits AND NEW.period = OLD.period)
    EXECUTE FUNCTION chaos.record_excess();
`;
