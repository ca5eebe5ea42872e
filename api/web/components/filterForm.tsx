import type { VNode } from 'preact';
import { FILTERED_ITEMS_MAX } from '../../../shared/spec/limits.ts';
import type { ListPage } from '../../../shared/lib/pagination.ts';
import type { Parameters } from '../../../shared/lib/validation/queryParser.ts';
import { DAY_FIELDS } from '../../pipeline/lists.ts';
import { t } from '../texts.ts';
import { DateField, SelectField } from './fields.tsx';
import { PageLinks } from './pageLinks.tsx';

/** Filter with fixed values, each with its text. */
export interface FilterChoice {
  name: string;
  label: string;
  options: Readonly<Record<string, string>>;
}

interface FilterFormProps {
  path: string;
  choices: readonly FilterChoice[];
  /** Further filters, which links may set. They have no field, and stay when the form is sent. */
  kept?: readonly string[];
  /** Offers the fields for the first and the last day. */
  hasDays?: boolean;
  /** Parameters of the request, whose values the fields show, also if they are not valid. */
  parameters: Parameters;
}

/**
 * Form that filters a list by its choices and by days, of which the first and the last are included. Closed until a
 * filter is set, so that the list is in view on a small screen.
 */
export function FilterForm({ path, choices, kept = [], hasDays = true, parameters }: FilterFormProps): VNode {
  const getValue = (name: string) => (typeof parameters[name] === 'string' ? parameters[name] : '');
  const names = [...choices.map(({ name }) => name), ...kept, ...(hasDays ? DAY_FIELDS : [])];
  const isFiltered = names.some((name) => getValue(name) !== '');
  return (
    <details class="card" open={isFiltered}>
      <summary>{t.filters()}</summary>
      <form class="inline filters" method="get" action={path} aria-label={t.filters()}>
        {choices.map(({ name, label, options }) => (
          <SelectField
            id={name}
            name={name}
            label={label}
            value={getValue(name)}
            options={[['', t.all()], ...Object.entries(options)]}
          />
        ))}
        {kept.map((name) =>
          getValue(name) === '' ? null : <input type="hidden" name={name} value={getValue(name)} />,
        )}
        {hasDays ? (
          <>
            <DateField id="from" name="from" label={t.from()} value={getValue('from')} />
            <DateField id="to" name="to" label={t.to()} value={getValue('to')} />
          </>
        ) : null}
        <div class="buttons">
          <button type="submit">{t.filter()}</button>
          {isFiltered ? <a href={path}>{t.clearFilters()}</a> : null}
        </div>
      </form>
    </details>
  );
}

/** Says why a page of a list has no items: it is after the last one, nothing matches, or there is `nothing` yet. */
export function describeEmptyList({ totalItems }: ListPage<unknown>, query: string, nothing: string): string {
  if (totalItems > 0) return t.emptyPage();
  return query === '' ? nothing : t.noMatches();
}

/** Number of matches of a filtered list. */
export function MatchCount({ list: { totalItems } }: { list: ListPage<unknown> }): VNode {
  const isCut = totalItems > FILTERED_ITEMS_MAX;
  return (
    <p class="quiet">{isCut ? t.tooManyMatches({ max: FILTERED_ITEMS_MAX }) : t.matches({ count: totalItems })}</p>
  );
}

/** Links between the pages of a list, which keep its filters. `query` is empty for the whole list. */
export function FilteredPageLinks({ list, path, query }: { list: ListPage<unknown>; path: string; query: string }) {
  const totalItems = query === '' ? list.totalItems : Math.min(list.totalItems, FILTERED_ITEMS_MAX);
  return <PageLinks list={{ ...list, totalItems }} path={path} query={query} />;
}
