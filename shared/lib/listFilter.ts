import { ServiceError } from '../spec/errors.ts';
import { FILTERED_ITEMS_MAX, PAGE_SIZE } from '../spec/limits.ts';
import { getPageOffset, type ListPage } from './pagination.ts';

/**
 * Range of creation times of a filtered list: from `createdAfter`, which is included, to `createdBefore`, which is not.
 */
export interface CreatedRange {
  createdAfter?: Date;
  createdBefore?: Date;
}

/** Returns whether a filter has any condition. */
export function hasConditions(filter: object): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}

/** Bindings of a range of creation times. A missing limit accepts every time. */
export function buildRangeBindings({ createdAfter, createdBefore }: CreatedRange) {
  return { after: createdAfter ?? '-infinity', before: createdBefore ?? 'infinity' };
}

/** Bindings that the statements of filtered lists have in common. */
export function buildFilterBindings(range: CreatedRange, page: number) {
  return {
    ...buildRangeBindings(range),
    // One more than is shown, which stands for "more".
    max: FILTERED_ITEMS_MAX + 1,
    skip: getPageOffset(page),
    limit: PAGE_SIZE,
  };
}

/** Row of a filtered list's statement: an item, whose columns are null on an empty page, and the number of matches. */
export type FilteredRow<Item> = Item & { matches: number };

/**
 * Builds the page of a filtered list from the rows of its statement, which returns at least one.
 * @param hint sentence that says how to read the items that are not counted.
 * @throws ServiceError validation_error for a page that is beyond the items that are counted.
 */
export function buildFilteredPage<Item extends { number: number }>(
  page: number,
  rows: readonly FilteredRow<Item>[],
  hint = 'Narrow the list with created_after or created_before.',
): ListPage<Item> {
  const totalItems = rows[0]?.matches ?? 0;
  if (totalItems > FILTERED_ITEMS_MAX && getPageOffset(page) >= FILTERED_ITEMS_MAX) {
    const detail = `page must be at most ${FILTERED_ITEMS_MAX / PAGE_SIZE} in a filtered list. ${hint}`;
    throw new ServiceError('validation_error', detail, { field: 'page' });
  }
  return { page, totalItems, items: rows.filter(({ number }) => number !== null) };
}
