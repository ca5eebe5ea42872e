import type { VNode } from 'preact';
import { countPages, type ListPage } from '../../../shared/lib/pagination.ts';
import { t } from '../texts.ts';

interface PageLinksProps {
  list: ListPage<unknown>;
  path: string;
  /** Filters of the list, for the addresses of its pages. */
  query?: string;
  /** Id of the list, if it is not the first thing on its page. */
  fragment?: string;
  /** Parameter with the number of the page. Default: `page`. */
  parameter?: string;
}

interface CursorLinksProps extends Pick<PageLinksProps, 'path' | 'query'> {
  /** Cursor of the page that is shown; undefined for the first one. */
  before: number | undefined;
  /** Cursor of the page after it, if there is one. */
  next: number | null;
}

/** Links between the pages of a list that is continued from a cursor. */
export function CursorLinks({ path, query = '', before, next }: CursorLinksProps): VNode | null {
  if (before === undefined && next === null) return null;
  return (
    <nav class="pages" aria-label={t.pages()}>
      {before === undefined ? null : (
        <a class="button slight" href={query === '' ? path : `${path}?${query}`}>
          {t.newest()}
        </a>
      )}
      {next === null ? null : (
        <a class="button slight" href={`${path}?${query === '' ? '' : `${query}&`}before=${next}`} rel="next">
          {t.older()}
        </a>
      )}
    </nav>
  );
}

/** Number of pages from which the first, the last and any page can be chosen. */
const MANY_PAGES = 4;

/** Links to the pages of a list, with a field for the page of a long one. Nothing for a list of one page. */
export function PageLinks({ list, path, query = '', fragment, parameter = 'page' }: PageLinksProps): VNode | null {
  const pages = countPages(list.totalItems);
  if (pages === 1 && list.page === 1) return null;
  const newer = list.page > 1 ? Math.min(list.page - 1, pages) : undefined;
  const older = list.page < pages ? list.page + 1 : undefined;
  const end = fragment === undefined ? '' : `#${fragment}`;
  const getHref = (page: number) => `${path}?${query === '' ? '' : `${query}&`}${parameter}=${page}${end}`;
  return (
    <nav class="pages" aria-label={t.pages()}>
      {newer === undefined || pages < MANY_PAGES ? null : (
        <a class="button slight" href={getHref(1)}>
          {t.first()}
        </a>
      )}
      {newer === undefined ? null : (
        <a class="button slight" href={getHref(newer)} rel="prev">
          {t.newer()}
        </a>
      )}
      <span class="quiet">{t.page({ page: list.page, pages })}</span>
      {older === undefined ? null : (
        <a class="button slight" href={getHref(older)} rel="next">
          {t.older()}
        </a>
      )}
      {older === undefined || pages < MANY_PAGES ? null : (
        <a class="button slight" href={getHref(pages)}>
          {t.last()}
        </a>
      )}
      {pages < MANY_PAGES ? null : (
        <form method="get" action={`${path}${end}`}>
          {[...new URLSearchParams(query)].map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <label for={parameter}>{t.goToPage()}</label>
          <input id={parameter} type="text" name={parameter} inputMode="numeric" autocomplete="off" required />
          <button type="submit" class="slight">
            {t.go()}
          </button>
        </form>
      )}
    </nav>
  );
}
