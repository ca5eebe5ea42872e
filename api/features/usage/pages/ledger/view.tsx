import type { ComponentChildren, VNode } from 'preact';
import type { ListedEntry } from '../../../../../shared/domain/credits/listFilteredLedger.ts';
import type { ListPage } from '../../../../../shared/lib/pagination.ts';
import type { LedgerEntryType } from '../../../../../shared/spec/states.ts';
import type { Context } from '../../../../context.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import {
  type FilterChoice,
  FilteredPageLinks,
  FilterForm,
  MatchCount,
} from '../../../../web/components/filterForm.tsx';
import { formatChange, formatNumber } from '../../../../web/components/formatAmount.ts';
import { formatShortDateTime } from '../../../../web/components/formatTime.ts';
import { Table } from '../../../../web/components/table.tsx';

const LEDGER_PATH = '/account/ledger/';

/** The words of docs/credits.md and of the CSV file. */
const TYPE_CHOICES: Record<LedgerEntryType, string> = {
  grant: 'Grant',
  burn: 'Burn',
  refund: 'Refund',
  rollover: 'Rollover',
  expiry: 'Expiry',
  topup: 'Top-up',
};
const FILTERS: readonly FilterChoice[] = [{ name: 'entry_type', label: 'Type', options: TYPE_CHOICES }];

interface ShownLedger {
  list: ListPage<ListedEntry>;
  /** Filters of the list; empty for all entries. */
  query: string;
}

/** Sends one page of the ledger, with a link to the same entries as a file. */
export async function sendLedgerPage(
  ctx: Context,
  { list, query }: ShownLedger,
  flash: PageProblem = {},
  status = 200,
): Promise<void> {
  const children = (
    <>
      <p class="quiet">Every change of your balance, newest first. Times are in UTC.</p>
      {list.totalItems === 0 && query === '' ? null : (
        <FilterForm path={LEDGER_PATH} choices={FILTERS} parameters={ctx.query} />
      )}
      {query === '' ? null : <MatchCount list={list} />}
      <section class="card" aria-label="Entries">
        {list.items.length === 0 ? <p>{describeEmptyList(list, query)}</p> : <EntryTable entries={list.items} />}
      </section>
      <FilteredPageLinks list={list} path={LEDGER_PATH} query={query} />
      <p>
        <a class="button" href={`/account/ledger/export/${query === '' ? '' : `?${query}`}`} download>
          {query === '' ? 'Download all entries (CSV)' : 'Download all matching entries (CSV)'}
        </a>
      </p>
    </>
  );
  await sendAccountAreaPage(ctx, { current: LEDGER_PATH, heading: 'Credit history', ...flash, children }, status);
}

function describeEmptyList({ totalItems }: ListPage<ListedEntry>, query: string): string {
  if (totalItems > 0) return 'No entries on this page.';
  return query === ''
    ? 'No entries. Credits appear here when you choose a plan, buy credits or create a generation.'
    : 'No entries match these filters.';
}

/** The description, which leads to the generation if there is one. */
function describeEntry({ description, generation_uuid: uuid }: ListedEntry): ComponentChildren {
  return uuid === null ? description : <a href={`/account/library/${uuid}/`}>{description}</a>;
}

function EntryTable({ entries }: { entries: readonly ListedEntry[] }): VNode {
  return (
    <Table
      label="Credit history"
      columns={['Date', 'Type', 'Description', 'Credits', 'Balance']}
      numeric={['Credits', 'Balance']}
      rows={entries.map((entry) => [
        formatShortDateTime(entry.created_at),
        TYPE_CHOICES[entry.entry_type],
        describeEntry(entry),
        formatChange(entry.amount),
        formatNumber(entry.balance_after),
      ])}
    />
  );
}
