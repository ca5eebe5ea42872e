/**
 * An audit log of chaos in the service's database, written by triggers in the service's transactions: prompts that the
 * service may purge, and the times of top-up changes by the clock of Postgres, which no fault moves.
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
`;
