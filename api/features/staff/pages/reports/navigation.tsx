import type { VNode } from 'preact';
import { REPORTS } from '../../../../../shared/domain/reports/index.ts';

export const REPORTS_PATH = '/admin/reports/' as const;

/** Links to all reports, with a mark on the current one. */
export function ReportNavigation({ current }: { current?: string }): VNode {
  return (
    <nav class="tabs" aria-label="Reports">
      <ul>
        {REPORTS.map(({ slug, title }) => (
          <li>
            <a href={`${REPORTS_PATH}${slug}/`} aria-current={slug === current ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** List of all reports with what each one shows. */
export function ReportList(): VNode {
  return (
    <ul class="rows">
      {REPORTS.map(({ slug, title, summary }) => (
        <li>
          <div class="what">
            <a href={`${REPORTS_PATH}${slug}/`}>{title}</a>
            <div class="quiet small">{summary}</div>
          </div>
        </li>
      ))}
    </ul>
  );
}
