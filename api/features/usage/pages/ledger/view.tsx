import type { ComponentChildren, VNode } from 'preact';
import { ensureModelsKnown } from '../../../../../shared/domain/catalog/knownModels.ts';
import type { ListedEntry } from '../../../../../shared/domain/credits/listFilteredLedger.ts';
import { findNamedGenerations, type NamedGeneration } from '../../../../../shared/domain/generations/readContext.ts';
import { findModelInfo } from '../../../../../shared/lib/catalog/knownModels.ts';
import type { ListPage } from '../../../../../shared/lib/pagination.ts';
import type { LedgerEntryType } from '../../../../../shared/spec/states.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import {
  type FilterChoice,
  FilteredPageLinks,
  FilterForm,
  MatchCount,
} from '../../../../web/components/filterForm.tsx';
import { formatChange, formatNumber } from '../../../../web/components/formatAmount.ts';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';

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
  const uuids = list.items.flatMap(({ generation_uuid: uuid }) => uuid ?? []);
  const generations = await findNamedGenerations(requireCaller(ctx).accountId, uuids);
  await ensureModelsKnown([...generations.values()].map(({ model }) => model));
  const children = (
    <>
      <p class="quiet">Every change of your balance, newest first. Times are in UTC.</p>
      {list.totalItems === 0 && query === '' ? null : (
        <FilterForm path={LEDGER_PATH} choices={FILTERS} parameters={ctx.query} />
      )}
      {query === '' ? null : <MatchCount list={list} />}
      <section class="card" aria-label="Entries">
        {list.items.length === 0 ? (
          <p>{describeEmptyList(list, query)}</p>
        ) : (
          <EntryTable entries={list.items} generations={generations} />
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
  await sendAccountAreaPage(ctx, { current: LEDGER_PATH, heading: 'Credit history', ...flash, children }, status);
}

function describeEmptyList({ totalItems }: ListPage<ListedEntry>, query: string): string {
  if (totalItems > 0) return 'No entries on this page.';
  return query === ''
    ? 'No entries. Credits appear here when you choose a plan, buy credits or create a generation.'
    : 'No entries match these filters.';
}

type NamedGenerations = ReadonlyMap<string, NamedGeneration>;

/** The description with the name of the model, which leads to the generation unless it was deleted. */
function describeEntry(entry: ListedEntry, generations: NamedGenerations): ComponentChildren {
  const { description, generation_uuid: uuid } = entry;
  if (uuid === null) return description;
  const generation = generations.get(uuid);
  if (generation === undefined) return description;
  const { model, is_deleted: isDeleted } = generation;
  const text = description.replace(model, findModelInfo(model)?.name ?? model);
  return isDeleted ? `${text} (deleted)` : <a href={`/account/library/${uuid}/`}>{text}</a>;
}

interface EntryTableProps {
  entries: readonly ListedEntry[];
  generations: NamedGenerations;
}

function EntryTable({ entries, generations }: EntryTableProps): VNode {
  return (
    <Table
      label="Credit history"
      columns={['Date', 'Type', 'Description', 'Credits', 'Balance']}
      numeric={['Credits', 'Balance']}
      rows={entries.map((entry) => [
        <Time at={entry.created_at} />,
        TYPE_CHOICES[entry.entry_type],
        describeEntry(entry, generations),
        formatChange(entry.amount),
        formatNumber(entry.balance_after),
      ])}
    />
  );
}
