import { PAGE_SIZE } from '../spec/limits.ts';

/** One page of a list, newest first, and the number of items in the whole list. */
export interface ListPage<Item> {
  page: number;
  totalItems: number;
  items: Item[];
}

/** Number of items before a page (1-based). */
export function getPageOffset(page: number): number {
  return (page - 1) * PAGE_SIZE;
}

/** Number of pages of a list. An empty list has one empty page. */
export function countPages(totalItems: number): number {
  return Math.max(1, Math.ceil(totalItems / PAGE_SIZE));
}

/** Returns a page of a list that is in memory. */
export function paginate<Item>(list: readonly Item[], page: number): ListPage<Item> {
  const offset = getPageOffset(page);
  return { page, totalItems: list.length, items: list.slice(offset, offset + PAGE_SIZE) };
}
