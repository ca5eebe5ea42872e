import Type from 'typebox';
import { config } from '../../shared/lib/config.ts';
import { type ListPage, countPages } from '../../shared/lib/pagination.ts';
import { FILTERED_ITEMS_MAX, PAGE_SIZE } from '../../shared/spec/limits.ts';
import { INSTANT_FORM, parseInstant } from '../../shared/lib/instant.ts';
import type { CreatedRange } from '../../shared/lib/listFilter.ts';
import { createQueryParser, type Parameters } from '../../shared/lib/validation/queryParser.ts';
import { textOrNull } from '../../shared/presenters/fields.ts';
import { addMilliseconds } from '../../shared/lib/clock.ts';
import { DAY_MS } from '../../shared/spec/durations.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import type { SuccessResponse } from './endpoint.ts';
import { dropEmptyFields } from './requestParameters.ts';

export const PaginationResponse = Type.Object({
  next: textOrNull({ description: 'The address of the next page' }),
  previous: textOrNull({ description: 'The address of the previous page' }),
  current_page: Type.Integer({ description: 'From 1' }),
  total_pages: Type.Integer(),
  total_items: Type.Integer(),
});

/** Page number of a list, as a parameter of its query. */
export const PageParameter = Type.Integer({
  minimum: 1,
  default: 1,
  description: `Page number; a page has ${PAGE_SIZE} items. After the last page \`data\` is empty.`,
  expected: 'a whole number, 1 or more',
});

/** Query of a list without filters. */
export const ListQuery = Type.Object({ page: PageParameter });

const parseListQuery = createQueryParser(ListQuery);

/**
 * Parses the number of the page of a list on a page.
 * @param parameter of the query, if it is not the first list on its page.
 * @throws ServiceError validation_error
 */
export function parsePage(ctx: Context, parameter = 'page'): number {
  return parseListQuery({ page: ctx.query[parameter] }).page;
}

/**
 * Parses the cursor of a list whose pages have no numbers.
 * @returns undefined for the first page.
 * @throws ServiceError validation_error
 */
export function parseCursor(ctx: Context): number | undefined {
  const { before } = ctx.query;
  if (before === undefined) return undefined;
  if (typeof before === 'string' && /^[1-9]\d{0,14}$/.test(before)) return Number(before);
  throw new ServiceError('validation_error', 'before must be the cursor of a page. Open the list again.');
}

const instantParameter = (description: string) =>
  Type.Optional(
    Type.String({
      format: 'instant',
      description: `${description} A date, which is its start in UTC, or an ISO 8601 time with its zone.`,
      expected: INSTANT_FORM,
    }),
  );

/** Limits of the creation time, as parameters of a filtered list. */
export const CREATED_RANGE = {
  created_after: instantParameter('Only items created at this time or later.'),
  created_before: instantParameter('Only items created before this time.'),
};

const toTime = (text: string | undefined) => (text === undefined ? undefined : (parseInstant(text) ?? undefined));

/** Reads the parameters of {@link CREATED_RANGE}. */
export function toCreatedRange(query: { created_after?: string; created_before?: string }): CreatedRange {
  return { createdAfter: toTime(query.created_after), createdBefore: toTime(query.created_before) };
}

/** Limit of a filtered list, for the description of its operation. */
export const FILTERED_LIST_NOTE = `With a filter, at most ${FILTERED_ITEMS_MAX} matches are counted and shown: a \`total_items\` of ${FILTERED_ITEMS_MAX + 1} means that there are more, and a page after those is a 400. Narrow the list by \`created_after\` and \`created_before\` to read them.`;

/** Names of the fields of a page for the first and the last day of a list. */
export const DAY_FIELDS = ['from', 'to'] as const;

/** Filters of a list on a page. */
export interface PageFilters {
  /** As parameters of the API, where {@link CREATED_RANGE} has the days. Fields that were left empty are missing. */
  parameters: Parameters;
  /** Query for the links to the other pages of the list, and to it as a file. Empty without filters. */
  query: string;
}

/**
 * Reads the filters of a page: those that are named, and the days from `from` to `to` in UTC, of which both are
 * included.
 * @throws ServiceError validation_error for something that is not a day.
 */
export function readPageFilters(ctx: Context, names: readonly string[]): PageFilters {
  const given = dropEmptyFields(ctx.query);
  const [from, to] = DAY_FIELDS.map((name) => readDay(given, name));
  const range = { created_after: from, created_before: to && addMilliseconds(to, DAY_MS) };
  const days = Object.entries(range).flatMap(([name, day]) => (day === undefined ? [] : [[name, day.toISOString()]]));
  const named = Object.entries(given).filter(([name]) => names.includes(name));
  return {
    parameters: Object.fromEntries([...named, ...days]),
    query: buildFilterQuery(given, [...names, ...DAY_FIELDS]),
  };
}

function readDay(parameters: Parameters, name: string): Date | undefined {
  const text = parameters[name];
  if (text === undefined) return undefined;
  const day = typeof text === 'string' && /^[12]\d{3}-\d\d-\d\d$/.test(text) ? parseInstant(text) : null;
  if (day !== null) return day;
  throw new ServiceError('validation_error', `${name} must be a day (2026-11-21).`, { field: name });
}

/** Returns the filters of a list as a query, for the links to its other pages. */
export function buildFilterQuery(parameters: Parameters, names: readonly string[]): string {
  const given = names.flatMap((name): [string, string][] => {
    const value = parameters[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return new URLSearchParams(given).toString();
}

/** Body of a list response. */
export const pageSchema = <Item extends Type.TSchema>(item: Item) =>
  Type.Object({ pagination: PaginationResponse, data: Type.Array(item) });

/** Response with one page of a list. */
export const pageResponse = (
  item: Type.TSchema,
  example: unknown,
  description = 'One page of the list.',
): SuccessResponse => ({
  description,
  schema: pageSchema(item),
  example: {
    pagination: { next: null, previous: null, current_page: 1, total_pages: 1, total_items: 1 },
    data: [example],
  },
});

/** Builds a list response. `path` is the path of the list and `query` its filters, for `next` and `previous`. */
export function presentPage<Item>(
  { page, totalItems, items }: ListPage<Item>,
  path: string,
  present: (item: Item) => unknown,
  query = '',
) {
  const totalPages = countPages(totalItems);
  const listUrl = `${config.BASE_URL}${path}?${query === '' ? '' : `${query}&`}`;
  const pageUrl = (number: number) => `${listUrl}page=${number}`;
  return {
    pagination: {
      next: page < totalPages ? pageUrl(page + 1) : null,
      previous: page > 1 ? pageUrl(Math.min(page - 1, totalPages)) : null,
      current_page: page,
      total_pages: totalPages,
      total_items: totalItems,
    },
    data: items.map(present),
  };
}
