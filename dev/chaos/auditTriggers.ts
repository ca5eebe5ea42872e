/**
 * An audit log of chaos in the service's database, written by triggers in the service's transactions: prompts, images
 * and events that the service may purge, the times of changes by the clock of Postgres, which no fault moves, and
 * violations that a later change may hide.
 */
export const AUDIT_TRIGGERS_SQL = `
  CREATE SCHEMA chaos;
  CREATE FUNCTION chaos.run() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    EXECUTE TG_ARGV[0] USING NEW;
    RETURN NULL;
  END $$;

  CREATE TABLE chaos.prompts (generation uuid PRIMARY KEY, prompt text NOT NULL);
  CREATE TRIGGER chaos_prompt AFTER INSERT ON generations FOR EACH ROW
    EXECUTE FUNCTION chaos.run('INSERT INTO chaos.prompts VALUES (($1).uuid, ($1).prompt)');

  CREATE TABLE chaos.inputs (generation uuid NOT NULL, upload uuid NOT NULL);
  CREATE INDEX ON chaos.inputs (generation);
  CREATE TRIGGER chaos_input AFTER INSERT ON generation_inputs FOR EACH ROW
    EXECUTE FUNCTION chaos.run('INSERT INTO chaos.inputs VALUES (($1).generation_uuid, ($1).upload_uuid)');

  CREATE TABLE chaos.ends (generation uuid NOT NULL, account bigint NOT NULL, status text NOT NULL, began_at timestamptz NOT NULL);
  CREATE TRIGGER chaos_end AFTER UPDATE OF status ON generations FOR EACH ROW
    WHEN (OLD.status = 'queued' AND NEW.status <> 'queued') EXECUTE FUNCTION chaos.run(
      'INSERT INTO chaos.ends VALUES (($1).uuid, ($1).account_id, ($1).status, statement_timestamp())');

  CREATE TABLE chaos.topups (topup uuid NOT NULL, status text NOT NULL, at timestamptz NOT NULL);
  CREATE TRIGGER chaos_topup AFTER INSERT ON topups FOR EACH ROW
    EXECUTE FUNCTION chaos.run('INSERT INTO chaos.topups VALUES (($1).uuid, ($1).status, clock_timestamp())');
  CREATE TRIGGER chaos_topup_status AFTER UPDATE ON topups FOR EACH ROW WHEN (OLD.status <> NEW.status)
    EXECUTE FUNCTION chaos.run('INSERT INTO chaos.topups VALUES (($1).uuid, ($1).status, clock_timestamp())');

  CREATE TABLE chaos.events (
    event uuid PRIMARY KEY, account bigint NOT NULL, type text NOT NULL, subject text NOT NULL,
    recorded_at timestamptz NOT NULL, dispatched_at timestamptz
  );
  CREATE TRIGGER chaos_event AFTER INSERT ON outbox_events FOR EACH ROW EXECUTE FUNCTION chaos.run(
    'INSERT INTO chaos.events VALUES (($1).uuid, ($1).account_id, ($1).type, ($1).subject, statement_timestamp())');
  CREATE TRIGGER chaos_dispatch AFTER UPDATE ON outbox_events FOR EACH ROW
    WHEN (OLD.dispatched_at IS NULL AND NEW.dispatched_at IS NOT NULL)
    EXECUTE FUNCTION chaos.run('UPDATE chaos.events SET dispatched_at = clock_timestamp() WHERE event = ($1).uuid');

  -- A message is created by the clock of the service, and fails by that of Postgres.
  CREATE TABLE chaos.emails (email uuid PRIMARY KEY, account bigint NOT NULL, kind text NOT NULL, recipient text,
                             created_at timestamptz NOT NULL, failed_at timestamptz);
  CREATE TRIGGER chaos_email AFTER INSERT ON emails FOR EACH ROW EXECUTE FUNCTION chaos.run($$
    INSERT INTO chaos.emails
    VALUES (($1).uuid, ($1).account_id, ($1).kind, ($1).params ->> 'recipient_email', ($1).created_at) $$);
  CREATE TRIGGER chaos_email_failure AFTER UPDATE ON emails FOR EACH ROW WHEN (NEW.status = 'failed')
    EXECUTE FUNCTION chaos.run('UPDATE chaos.emails SET failed_at = clock_timestamp() WHERE email = ($1).uuid');

  CREATE TABLE chaos.violations (rule text NOT NULL, account bigint NOT NULL, detail text NOT NULL);
  CREATE TRIGGER chaos_kept_trigger AFTER UPDATE OF suspended_at ON accounts FOR EACH ROW
    WHEN (NEW.suspended_at IS NOT NULL AND NEW.auto_topup_triggered_at IS NOT NULL) EXECUTE FUNCTION chaos.run($$
      INSERT INTO chaos.violations VALUES ('suspension-clears-the-trigger', ($1).id,
        format('triggered %s, suspended %s', ($1).auto_topup_triggered_at, ($1).suspended_at)) $$);

  CREATE TRIGGER chaos_ended_grant AFTER INSERT ON generations FOR EACH ROW WHEN (NEW.oauth_client_id IS NOT NULL)
    EXECUTE FUNCTION chaos.run($$
      INSERT INTO chaos.violations SELECT 'ended-grants-charge-nothing', ($1).account_id,
        format('generation %s by %s, all of whose grants have ended', ($1).uuid, ($1).oauth_client_id)
       WHERE NOT EXISTS (SELECT FROM oauth_grants g WHERE g.account_id = ($1).account_id
                            AND g.client_id = ($1).oauth_client_id AND g.revoked_at IS NULL) $$);

  -- By a charge, and not by a change of the limit.
  CREATE TRIGGER chaos_excess AFTER UPDATE ON spending_limits FOR EACH ROW
    WHEN (NEW.used > OLD.used AND NEW.used > NEW.credits AND NEW.credits = OLD.credits AND NEW.period = OLD.period)
    EXECUTE FUNCTION chaos.run($$
      INSERT INTO chaos.violations VALUES ('charges-keep-limits', ($1).account_id,
        format('limit %s of %s credits, %s: a charge raised its use to %s', ($1).number, ($1).credits, ($1).period, ($1).used)) $$);

  -- At the commit, which still holds the lock of the account.
  CREATE CONSTRAINT TRIGGER chaos_window AFTER INSERT OR UPDATE ON spending_limits DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION chaos.run($$
      INSERT INTO chaos.violations
      SELECT 'windows-match-at-every-commit', l.account_id,
             format('limit %s, %s since %s: used %s; its generations after number %s cost %s', l.number, l.period,
                    coalesce(l.window_start::text, 'the start'), l.used, l.generation_count_at_window_start, paid.credits)
        FROM spending_limits l
       CROSS JOIN LATERAL (
             SELECT coalesce(sum(g.credits_charged), 0) AS credits FROM generations g
              WHERE g.account_id = l.account_id AND g.number > l.generation_count_at_window_start
                AND (g.api_key_number = l.key_number OR g.oauth_client_id = l.client_id OR g.member_number = l.member_number)
                AND g.status <> 'failed' AND g.refunded_at IS NULL) paid
       WHERE l.account_id = ($1).account_id AND l.number = ($1).number AND l.credits IS NOT NULL AND l.used <> paid.credits $$);
`;
