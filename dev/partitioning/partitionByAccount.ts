import type { ClientBase } from 'pg';
import { REUSE_PLANS_OF_PARTITIONS } from '../../migrations/reusePlans.ts';

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
 * storage parameters, owner and privileges under the same names. Runs in one transaction that locks these tables: stop
 * the service first.
 * @throws Error before it copies anything, if a table cannot be partitioned.
 */
export async function partitionByAccount(client: ClientBase, partitions: number): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SET LOCAL statement_timeout = 0');
    const definitions = new Map<string, TableDefinition>();
    for (const table of PARTITIONED_TABLES) definitions.set(table, await readDefinition(client, table));
    for (const [table, definition] of definitions) await partitionTable(client, table, definition, partitions);
    await client.query(REUSE_PLANS_OF_PARTITIONS);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Definitions of a table that `LIKE` does not copy under the same names. */
interface TableDefinition {
  isPartitioned: boolean;
  /** Storage parameters, such as the fill factor; a partitioned table has none, its partitions do. */
  storage: string[] | null;
  keys: string[];
  indexes: string[];
  triggers: string[];
  /** TRUNCATE triggers, which Postgres does not copy to partitions. */
  truncateTriggers: string[];
  owner: string;
  grants: string[];
  publications: string[];
  hasColumnGrants: boolean;
  /** Unique indexes that do not contain the account. */
  otherKeys: string[];
}

async function partitionTable(
  client: ClientBase,
  table: string,
  { storage, keys, indexes, triggers, truncateTriggers, owner, grants }: TableDefinition,
  partitions: number,
): Promise<void> {
  const whole = `${table}_unpartitioned`;
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
  // Grants after the owner: those to the role that runs this would otherwise become part of its own.
  await client.query(`ALTER TABLE ${table} OWNER TO ${owner}`);
  for (const privileges of grants) await client.query(privileges);
  for (let remainder = 0; remainder < partitions; remainder += 1) {
    const partition = `${table}_p${remainder}`;
    for (const trigger of truncateTriggers) await client.query(trigger.replace(/ ON \S+ /, ` ON ${partition} `));
    await client.query(`ALTER TABLE ${partition} OWNER TO ${owner}`);
    // pg_dump reads each partition by itself.
    for (const privileges of grants) await client.query(privileges.replace(` ON ${table} `, ` ON ${partition} `));
  }
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
                   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS triggers,
            array(SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t
                   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgtype & 32 <> 0) AS "truncateTriggers",
            c.relowner::regrole::text AS owner,
            array(SELECT format('GRANT %s ON %I TO %s%s', a.privilege_type, c.relname,
                                CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
                                CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
                    FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner) AS grants,
            array(SELECT p.pubname::text FROM pg_publication_tables p
                   WHERE p.schemaname = c.relnamespace::regnamespace::text AND p.tablename = c.relname) AS publications,
            EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL) AS "hasColumnGrants",
            array(SELECT i.indexrelid::regclass::text FROM pg_index i
                   WHERE i.indrelid = c.oid AND i.indisunique
                     AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'account_id'
                                        AND a.attnum = ANY (i.indkey::int2[]))) AS "otherKeys"
       FROM pg_class c WHERE c.oid = to_regclass($1)`,
    [table],
  );
  const [definition] = rows;
  if (definition === undefined) throw new Error(`There is no table ${table}: run npm run release first.`);
  const { isPartitioned, otherKeys, publications, hasColumnGrants } = definition;
  if (isPartitioned) throw new Error(`${table} is partitioned already.`);
  if (otherKeys.length > 0) throw new Error(`${table} has unique keys without account_id: ${otherKeys.join(', ')}.`);
  if (publications.length > 0)
    throw new Error(
      `${table} is published by ${publications.join(', ')}: drop the publication, and create it afterwards.`,
    );
  if (hasColumnGrants)
    throw new Error(`${table} has privileges on columns, which would be lost: revoke them, and grant them afterwards.`);
  return definition;
}
