import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { buildFilterBindings, buildFilteredPage, type CreatedRange, type FilteredRow } from '../../lib/listFilter.ts';
import type { ListPage } from '../../lib/pagination.ts';
import { LEDGER_ENTRY_TYPES, type LedgerEntryType } from '../../spec/states.ts';
import type { LedgerEntry } from '../../tables/LedgerEntry.ts';

/** Conditions of a list of ledger entries. A missing one accepts everything. */
export interface LedgerFilter extends CreatedRange {
  entryType?: LedgerEntryType;
}

/** Types of entries that a filter accepts. */
export function listAcceptedTypes({ entryType }: LedgerFilter): LedgerEntryType[] {
  return entryType === undefined ? [...LEDGER_ENTRY_TYPES] : [entryType];
}

/** Columns of an entry that lists show. */
export type ListedEntry = Pick<
  LedgerEntry,
  | 'number'
  | 'uuid'
  | 'entry_type'
  | 'amount'
  | 'plan_amount'
  | 'balance_after'
  | 'description'
  | 'generation_uuid'
  | 'created_at'
>;

/** Matches of one type: a range of the index `ledger_entries_filter_idx`, read only if the type is wanted. */
const buildRange = (type: LedgerEntryType) => `
     (SELECT number, created_at FROM ledger_entries
       WHERE account_id = :accountId AND entry_type = '${type}' AND '${type}' = ANY (cast(:types AS text[]))
         AND created_at >= cast(:after AS timestamptz) AND created_at < cast(:before AS timestamptz)
       ORDER BY created_at DESC, number DESC LIMIT :max)`;

/** Works as the statement of filtered generations does (`generations/list.ts`). */
export const LIST_FILTERED_LEDGER = prepared(
  'list_filtered_ledger_entries',
  `WITH matching AS MATERIALIZED (
     SELECT number FROM (${LEDGER_ENTRY_TYPES.map(buildRange).join('\n      UNION ALL')}
     ) ranges
      ORDER BY created_at DESC, number DESC LIMIT :max
   )
   SELECT total.matches, e.number, e.uuid, e.entry_type, e.amount, e.plan_amount, e.balance_after, e.description,
          e.generation_uuid, e.created_at
     FROM (SELECT count(*) AS matches FROM matching) total
     LEFT JOIN (SELECT number FROM matching ORDER BY number DESC OFFSET :skip LIMIT :limit) shown ON true
     LEFT JOIN ledger_entries e ON e.account_id = :accountId AND e.number = shown.number
    ORDER BY shown.number DESC`,
);

/**
 * Lists the ledger entries of an account that match a filter, newest first. Of more than `FILTERED_ITEMS_MAX` matches,
 * that number and one are counted, and the newest are shown.
 * @throws ServiceError validation_error for a page after those.
 */
export async function listFilteredLedger(
  accountId: number,
  page: number,
  filter: LedgerFilter,
): Promise<ListPage<ListedEntry>> {
  const rows = await runStatement<FilteredRow<ListedEntry>>(LIST_FILTERED_LEDGER, {
    accountId,
    types: listAcceptedTypes(filter),
    ...buildFilterBindings(filter, page),
  });
  return buildFilteredPage<ListedEntry>(page, rows);
}
