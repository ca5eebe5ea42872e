import type { Client } from 'pg';

/** Totals that Postgres has counted so far. */
export interface DatabaseUsage {
  /** Position in the write-ahead log of the server. */
  walBytes: number;
  /** Updates of `generations` in this database, and how many of them changed no index (HOT). */
  updates: number;
  hotUpdates: number;
}

/** Reads the counters. Those of updates are up to a second late. */
export async function readDatabaseUsage(client: Client): Promise<DatabaseUsage> {
  const { rows } = await client.query<DatabaseUsage>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS "walBytes",
            sum(n_tup_upd)::float8 AS updates, sum(n_tup_hot_upd)::float8 AS "hotUpdates"
       FROM pg_stat_user_tables
      WHERE relid IN (SELECT relid FROM pg_partition_tree('generations') UNION SELECT 'generations'::regclass)`,
  );
  return rows[0]!;
}
