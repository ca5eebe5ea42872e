import { executeStatements } from '../local/environment/databases.ts';
import { waitUntil } from '../local/servers/processes.ts';

/** Maximum duration of the fault. */
export const MAX_PAUSES_MS = 10_000;

/**
 * Pauses of transactions between their snapshot and their first change, or between that change and their commit.
 * Without them, transactions of one row overlap for microseconds, and a missing lock is found by luck.
 *
 * Half of the transactions pause once: before the first statement that changes a table, which has its snapshot by then
 * and no lock, or at the end of that statement, when it holds all of its locks. The period ends by itself if
 * the database cannot be reached then.
 */
export const PAUSE_TRIGGERS_SQL = `
  CREATE TABLE chaos.pauses (until timestamptz NOT NULL);
  INSERT INTO chaos.pauses VALUES ('-infinity');
  CREATE FUNCTION chaos.pause() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    pause_when text := coalesce(current_setting('chaos.pause_when', true), '');
  BEGIN
    IF pause_when = '' THEN
      pause_when := CASE WHEN (SELECT until > clock_timestamp() FROM chaos.pauses)
                         THEN (ARRAY['BEFORE', 'AFTER', 'never', 'never'])[1 + floor(4 * random())] ELSE 'never' END;
    END IF;
    IF pause_when = TG_WHEN THEN
      PERFORM pg_sleep(0.02 + 0.13 * random());
      pause_when := 'never';
    END IF;
    PERFORM set_config('chaos.pause_when', pause_when, true);
    RETURN NULL;
  END $$;
  DO $$
  DECLARE
    changed regclass;
  BEGIN
    FOR changed IN SELECT oid FROM pg_class
                    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition LOOP
      EXECUTE format('CREATE TRIGGER chaos_pause_before BEFORE INSERT OR UPDATE OR DELETE ON %s
                        FOR EACH STATEMENT EXECUTE FUNCTION chaos.pause()', changed);
      EXECUTE format('CREATE TRIGGER chaos_pause_after AFTER INSERT OR UPDATE OR DELETE ON %s
                        FOR EACH STATEMENT EXECUTE FUNCTION chaos.pause()', changed);
    END LOOP;
  END $$;
`;

/** Begins the pauses, as soon as the database can be reached. */
export async function pauseTransactions(databaseUrl: string): Promise<void> {
  await waitUntil(() => setEnd(databaseUrl, `clock_timestamp() + interval '${MAX_PAUSES_MS} ms'`), MAX_PAUSES_MS);
}

/** Ends the pauses. They end by themselves if the database cannot be reached. */
export async function stopPauses(databaseUrl: string): Promise<void> {
  await setEnd(databaseUrl, `'-infinity'`);
}

/** @returns true if the end was set. */
async function setEnd(databaseUrl: string, end: string): Promise<boolean> {
  return executeStatements(databaseUrl, `UPDATE chaos.pauses SET until = ${end}`).then(
    () => true,
    () => false,
  );
}
