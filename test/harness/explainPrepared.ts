import type pg from 'pg';
import type { Statement } from '../../shared/lib/database/preparedStatements.ts';

/** Ways in which Postgres plans a prepared statement. */
export const PLAN_CACHE_MODES = ['force_generic_plan', 'force_custom_plan'] as const;

/**
 * Prepares and runs a statement, and returns its plan with the rows that each step has read.
 * @param values SQL of its parameters, by name.
 */
export async function explainPrepared(
  client: pg.Client,
  { name, text, parameters }: Statement,
  values: Readonly<Record<string, string>>,
  mode: (typeof PLAN_CACHE_MODES)[number],
): Promise<string> {
  await client.query(`SET plan_cache_mode = ${mode}; PREPARE ${name}_${mode} AS ${text}`);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)
     EXECUTE ${name}_${mode} (${parameters.map((parameter) => values[parameter]).join(', ')})`,
  );
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
