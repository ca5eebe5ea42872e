import type { VNode } from 'preact';
import type { ListedEntry } from '../../../shared/domain/credits/listFilteredLedger.ts';
import type { ListPage } from '../../../shared/lib/pagination.ts';
import type { LedgerEntryType } from '../../../shared/spec/states.ts';
import type { Context } from '../../context.ts';
import { type PageProblem, sendAccountAreaPage } from '../components/accountPage.tsx';
import { type FilterChoice, FilteredPageLinks, FilterForm, MatchCount } from '../components/filterForm.tsx';
import { formatChange, formatNumber } from '../components/formatAmount.ts';
import { formatDateTime } from '../components/formatTime.ts';

const LEDGER_PATH = '/account/ledger/';

const TYPE_CHOICES: Record<LedgerEntryType, string> = {
  grant: 'Grants',
  burn: 'Generations',
  refund: 'Refunds',
  rollover: 'Carried over',
  expiry: 'Expired',
  topup: 'Top-ups',
};
const FILTERS: readonly FilterChoice[] = [{ name: 'entry_type', label: 'Type', options: TYPE_CHOICES }];

interface ShownLedger {
  list: ListPage<ListedEntry>;
  /** Filters of the list; empty for all entries. */
  query: string;
}

/** Sends one page of the ledger, with a link to the same entries as a file. */
export function sendLedgerPage(
  ctx: Context,
  { list, query }: ShownLedger,
  flash: PageProblem = {},
  status = 200,
): void {
  const children = (
    <>
      <p class="quiet">Every change of your balance, newest first. Times are in UTC.</p>
      {list.totalItems === 0 && query === '' ? null : (
        <FilterForm path={LEDGER_PATH} choices={FILTERS} parameters={ctx.query} />
      )}
      {query === '' ? null : <MatchCount list={list} />}
      <section class="card" aria-label="Entries">
        {list.items.length === 0 ? (
          <p>{query === '' || list.totalItems > 0 ? 'No entries.' : 'No entries match these filters.'}</p>
        ) : (
          <EntryTable entries={list.items} />
        )}
      </section>
      <FilteredPageLinks list={list} path={LEDGER_PATH} query={query} />
      <p>
        <a class="button" href={`/account/ledger/export/${query === '' ? '' : `?${query}`}`} download>
          {query === '' ? 'Download all entries (CSV)' : 'Download all matching entries (CSV)'}
        </a>
      </p>
    </>
  );
  sendAccountAreaPage(ctx, { current: LEDGER_PATH, heading: 'Ledger', ...flash, children }, status);
}

function EntryTable({ entries }: { entries: readonly ListedEntry[] }): VNode {
  return (
    <div class="scrolls wide" tabIndex={0} role="region" aria-label="Entries">
      <table>
        <thead>
          <tr>
            <th scope="col">Date</th>
            <th scope="col">Description</th>
            <th scope="col" class="number">
              Credits
            </th>
            <th scope="col" class="number">
              Balance
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr>
              <td>{formatDateTime(entry.created_at)}</td>
              <td>{entry.description}</td>
              <td class="number">{formatChange(entry.amount)}</td>
              <td class="number">{formatNumber(entry.balance_after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
