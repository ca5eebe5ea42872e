import type { ClientBase } from 'pg';

/** Tables that grow without end. All have `account_id` in every unique key. */
export const PARTITIONED_TABLES = [
  'generations',
  'generation_deletion_counts',
  'ledger_entries',
  'usage_days',
  'usage_totals',
] as const;

/**
 * Re-creates the growing tables as `PARTITION BY HASH (account_id)`, with their rows, keys, indexes, comments, triggers
 * and storage parameters under the same names. Runs in one transaction that locks these tables: stop the service first.
 * @throws Error if a table is partitioned already.
 */
export async function partitionByAccount(client: ClientBase, partitions: number): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SET LOCAL statement_timeout = 0');
    for (const table of PARTITIONED_TABLES) await partitionTable(client, table, partitions);
    await client.query(REUSE_PLANS);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/**
 * Plans each prepared statement once per connection. Postgres would otherwise plan small batches each time, since it
 * underestimates the planning of many partitions: 2 ms for each read.
 */
const REUSE_PLANS = `
  DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database()); END $$`;

/** Definitions of a table that `LIKE` does not copy under the same names. */
interface TableDefinition {
  isPartitioned: boolean;
  /** Storage parameters, such as the fill factor; a partitioned table has none, its partitions do. */
  storage: string[] | null;
  keys: string[];
  indexes: string[];
  triggers: string[];
}

async function partitionTable(client: ClientBase, table: string, partitions: number): Promise<void> {
  const whole = `${table}_unpartitioned`;
  const { isPartitioned, storage, keys, indexes, triggers } = await readDefinition(client, table);
  if (isPartitioned) throw new Error(`${table} is partitioned already.`);
  const parameters = storage === null ? '' : ` WITH (${storage.join(', ')})`;
  await client.query(`
    ALTER TABLE ${table} RENAME TO ${whole};
    CREATE TABLE ${table} (LIKE ${whole} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS INCLUDING STORAGE)
      PARTITION BY HASH (account_id)`);
  for (let remainder = 0; remainder < partitions; remainder += 1) {
    await client.query(`
      CREATE TABLE ${table}_p${remainder} PARTITION OF ${table}
        FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${remainder})${parameters}`);
  }
  // Without keys, indexes and triggers, rows are copied fast and count in no metric twice.
  await client.query(`INSERT INTO ${table} SELECT * FROM ${whole}; DROP TABLE ${whole}`);
  for (const definition of [...keys, ...indexes, ...triggers]) await client.query(definition);
  await client.query(`ANALYZE ${table}`);
}

async function readDefinition(client: ClientBase, table: string): Promise<TableDefinition> {
  const { rows } = await client.query<TableDefinition>(
    `SELECT c.relkind = 'p' AS "isPartitioned", c.reloptions AS storage,
            array(SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
                    FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u')) AS keys,
            array(SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i
                   WHERE i.indrelid = c.oid
                     AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)) AS indexes,
            array(SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t
                   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS triggers
       FROM pg_class c WHERE c.oid = to_regclass($1)`,
    [table],
  );
  const [definition] = rows;
  if (definition === undefined) throw new Error(`There is no table ${table}: run npm run release first.`);
  return definition;
}
