/**
 * Makes new sessions plan each prepared statement once, if tables are partitioned and the database does not set
 * `plan_cache_mode`. Postgres underestimates the planning of many partitions and would otherwise plan small batches
 * each time: 2 ms for each read. The setting belongs to the database and not to its tables, so a restored dump does not
 * have it. Only the owner of the database may change it.
 */
export const REUSE_PLANS_OF_PARTITIONS = `
  DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
                WHERE c.relnamespace = 'public'::regnamespace)
       AND NOT EXISTS (SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase,
                              unnest(s.setconfig) AS setting
                        WHERE d.datname = current_database() AND s.setrole = 0 AND setting LIKE 'plan_cache_mode=%') THEN
      EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database());
    END IF;
  END $$`;
