import type { Knex } from 'knex';
import { db } from '../lib/database/pool.ts';

export type ExportRow = Record<string, unknown>;

/** A list of the download of an account. */
export interface ExportList {
  name: string;
  /** Accounts whose download has it. A test account has no access and no payments of its own. Default: live. */
  mode?: 'live' | 'test' | 'both';
  /** Selects the rows of an account, from a position on that `export_position` returns. */
  select: (accountId: number, after: unknown) => Knex.QueryBuilder;
  present?: (row: ExportRow) => ExportRow;
}

/** Rows of one query. */
export const EXPORT_BATCH_SIZE = 500;

/** Limits a query to the rows after a position. @param position is unique within the account. */
export function selectNext(query: Knex.QueryBuilder, position: string | Knex.Raw, after: unknown): Knex.QueryBuilder {
  return query
    .select({ export_position: position })
    .modify((rows) => void (after !== null && rows.where(position as string, '>', after as string)))
    .orderBy(position as string)
    .limit(EXPORT_BATCH_SIZE);
}

/**
 * Lists a table in the order of a column that is unique within the account.
 * @param columns all others stay out of the download: internal states and figures, hashes, secrets, and columns that are
 * added later.
 */
export function listTable(
  table: string,
  position: string,
  columns: readonly string[],
  { owner = 'account_id', mode = 'live' }: { owner?: string; mode?: ExportList['mode'] } = {},
): ExportList {
  return {
    name: table,
    mode,
    select: (accountId, after) =>
      selectNext(
        db(table).select(qualifyColumns(table, columns)).where(`${table}.${owner}`, accountId),
        `${table}.${position}`,
        after,
      ),
  };
}

export function qualifyColumns(table: string, columns: readonly string[]): string[] {
  return columns.map((column) => `${table}.${column}`);
}
