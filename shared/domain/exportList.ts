import type { Knex } from 'knex';
import { db } from '../lib/database/pool.ts';

export type ExportRow = Record<string, unknown>;

/** A list of the download of an account. */
export interface ExportList {
  name: string;
  /** Accounts whose download has it. A test account has no access and no payments of its own. Default: live. */
  mode?: 'live' | 'test' | 'both';
  /**
   * The id that `select` gets: that of the account, or of the person who owned it when the download began. Default:
   * account.
   */
  of?: 'account' | 'owner';
  /** Selects the rows of an account or a person, from a position on that `export_position` returns. */
  select: (id: number, after: unknown) => Knex.QueryBuilder;
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
 * @param columns all others stay out of the download: internal states and figures, hashes, secrets, and columns that
 * are added later.
 */
export function listTable(
  table: string,
  position: string,
  columns: readonly string[],
  { owner = 'account_id', mode = 'live', of = 'account' }: { owner?: string } & Pick<ExportList, 'mode' | 'of'> = {},
): ExportList {
  return {
    name: table,
    mode,
    of,
    select: (id, after) =>
      selectNext(
        db(table).select(qualifyColumns(table, columns)).where(`${table}.${owner}`, id),
        `${table}.${position}`,
        after,
      ),
  };
}

export function qualifyColumns(table: string, columns: readonly string[]): string[] {
  return columns.map((column) => `${table}.${column}`);
}
