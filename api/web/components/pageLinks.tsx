import type { VNode } from 'preact';
import { countPages, type ListPage } from '../../../shared/lib/pagination.ts';
import { t } from '../texts.ts';

interface PageLinksProps {
  list: ListPage<unknown>;
  path: string;
  /** Filters of the list, for the addresses of its pages. */
  query?: string;
}

/** Links to the previous and the next page of a list. Nothing for a list of one page. */
export function PageLinks({ list, path, query = '' }: PageLinksProps): VNode | null {
  const pages = countPages(list.totalItems);
  if (pages === 1 && list.page === 1) return null;
  const newer = list.page > 1 ? Math.min(list.page - 1, pages) : undefined;
  const older = list.page < pages ? list.page + 1 : undefined;
  const listPath = `${path}?${query === '' ? '' : `${query}&`}`;
  return (
    <nav class="pages" aria-label={t.pages()}>
      {newer === undefined ? null : (
        <a class="button slight" href={`${listPath}page=${newer}`} rel="prev">
          {t.newer()}
        </a>
      )}
      <span class="quiet">{t.page({ page: list.page, pages })}</span>
      {older === undefined ? null : (
        <a class="button slight" href={`${listPath}page=${older}`} rel="next">
          {t.older()}
        </a>
      )}
    </nav>
  );
}
