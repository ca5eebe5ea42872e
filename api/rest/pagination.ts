import Type from 'typebox';
import { config } from '../../shared/lib/config.ts';
import { type ListPage, countPages } from '../../shared/lib/pagination.ts';
import { textOrNull } from '../../shared/presenters/fields.ts';

export const PaginationResponse = Type.Object({
  next: textOrNull({ description: 'The address of the next page' }),
  previous: textOrNull({ description: 'The address of the previous page' }),
  current_page: Type.Integer({ description: 'From 1' }),
  total_pages: Type.Integer(),
  total_items: Type.Integer(),
});

/** Body of a list response. */
export const pageResponse = <Item extends Type.TSchema>(item: Item) =>
  Type.Object({ pagination: PaginationResponse, data: Type.Array(item) });

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
