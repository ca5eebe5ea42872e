import { PAGE_SIZE } from '../spec/limits.ts';

/** One page of a list, newest first, and how many items the whole list has. */
export interface ListPage<Item> {
  page: number;
  totalItems: number;
  items: Item[];
}

/** How many items come before a page (1-based). */
export function getPageOffset(page: number): number {
  return (page - 1) * PAGE_SIZE;
}

/** How many pages a list has; an empty one has one, empty. */
export function countPages(totalItems: number): number {
  return Math.max(1, Math.ceil(totalItems / PAGE_SIZE));
}

/** Cuts a page out of a list that is wholly in memory. */
export function paginate<Item>(list: readonly Item[], page: number): ListPage<Item> {
  const offset = getPageOffset(page);
  return { page, totalItems: list.length, items: list.slice(offset, offset + PAGE_SIZE) };
}
