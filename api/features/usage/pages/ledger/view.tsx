import type { ComponentChildren } from 'preact';
import { ensureModelsKnown } from '../../../../../shared/domain/catalog/knownModels.ts';
import type { ListedEntry } from '../../../../../shared/domain/credits/listFilteredLedger.ts';
import { findNamedGenerations, type NamedGeneration } from '../../../../../shared/domain/generations/readContext.ts';
import { findModelInfo } from '../../../../../shared/lib/catalog/knownModels.ts';
import type { ListPage } from '../../../../../shared/lib/pagination.ts';
import { LEDGER_ENTRY_TYPES } from '../../../../../shared/spec/states.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { mayDo, type PageProblem, sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import {
  describeEmptyList,
  type FilterChoice,
  FilteredPageLinks,
  FilterForm,
  MatchCount,
} from '../../../../web/components/filterForm.tsx';
import { formatChange, formatNumber } from '../../../../web/components/formatAmount.ts';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { t as shared } from '../../../../web/texts.ts';
import { t as pages } from '../../../texts.ts';
import { ENTRY_TYPES, LEDGER as t } from '../texts.ts';

const LEDGER_PATH = '/account/ledger/';

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
  const mayOpen = mayDo(ctx, 'viewGenerations');
  const numeric = [shared.credits(), shared.balanceLabel()];
  const children = (
    <>
      <p class="quiet">{t.lead()}</p>
      {list.totalItems === 0 && query === '' ? null : (
        <FilterForm path={LEDGER_PATH} choices={listFilters()} parameters={ctx.query} />
      )}
      {query === '' ? null : <MatchCount list={list} />}
      <section class="card" aria-label={t.entries()}>
        <Table
          label={pages.creditHistory()}
          class="entries"
          columns={[shared.date(), shared.description(), t.type(), ...numeric]}
          numeric={numeric}
          empty={describeEmptyList(list, query, t.empty())}
          rows={list.items.map((entry) => [
            <Time at={entry.created_at} />,
            describeEntry(entry, generations, mayOpen),
            ENTRY_TYPES[entry.entry_type](),
            formatChange(entry.amount),
            formatNumber(entry.balance_after),
          ])}
        />
      </section>
      <FilteredPageLinks list={list} path={LEDGER_PATH} query={query} />
      <p>
        <a class="button" href={`/account/ledger/export/${query === '' ? '' : `?${query}`}`} download>
          {query === '' ? t.downloadAll() : t.downloadMatching()}
        </a>
      </p>
    </>
  );
  await sendAccountAreaPage(ctx, { current: LEDGER_PATH, heading: pages.creditHistory(), ...flash, children }, status);
}

const listFilters = (): FilterChoice[] => [
  {
    name: 'entry_type',
    label: t.type(),
    options: Object.fromEntries(LEDGER_ENTRY_TYPES.map((type) => [type, ENTRY_TYPES[type]()])),
  },
];

/**
 * The model of a generation, which leads to it unless it was deleted or may not be seen; the credits of a top-up; of
 * other entries, the description.
 */
function describeEntry(
  entry: ListedEntry,
  generations: ReadonlyMap<string, NamedGeneration>,
  mayOpen: boolean,
): ComponentChildren {
  const { description, generation_uuid: uuid } = entry;
  if (entry.entry_type === 'topup') return t.topup({ credits: entry.amount });
  const generation = uuid === null ? undefined : generations.get(uuid);
  if (generation === undefined) return <span lang="en">{description}</span>;
  const { model, is_deleted: isDeleted } = generation;
  const name = findModelInfo(model)?.name ?? model;
  const text = <span lang="en">{entry.entry_type === 'burn' ? name : description.replace(model, name)}</span>;
  if (!isDeleted) return mayOpen ? <a href={`/account/library/${uuid}/`}>{text}</a> : text;
  return (
    <>
      {text} {t.deleted()}
    </>
  );
}
