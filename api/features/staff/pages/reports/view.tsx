import type { VNode } from 'preact';
import type { ReportDefinition, ReportRange, ReportTable } from '../../../../../shared/domain/reports/report.ts';
import { addMilliseconds, now } from '../../../../../shared/lib/clock.ts';
import { DAY_MS } from '../../../../../shared/spec/durations.ts';
import type { Context } from '../../../../context.ts';
import { sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { TextField } from '../../../../web/components/fields.tsx';
import { formatDate, formatDateTime } from '../../../../web/components/formatTime.ts';
import { ReportList, ReportNavigation, REPORTS_PATH } from './navigation.tsx';
import { ReportTableCard } from './table.tsx';

interface ReportPageProps {
  report: ReportDefinition;
  /** Fields of the form, as they were sent. */
  from: string | undefined;
  to: string | undefined;
  /** Without them, the page shows the problem. */
  range?: ReportRange;
  tables?: readonly ReportTable[];
  problem?: string;
}

export async function sendReportListPage(ctx: Context): Promise<void> {
  const children = (
    <div class="card">
      <ReportList />
    </div>
  );
  await sendStaffConsolePage(ctx, { current: REPORTS_PATH, heading: 'Reports', children });
}

/** Sends a report: what is counted, the form for its range, and its tables, each with a link to its CSV file. */
export async function sendReportPage(
  ctx: Context,
  { report, from, to, range, tables, problem }: ReportPageProps,
  status = 200,
): Promise<void> {
  const children = (
    <>
      <ReportNavigation current={report.slug} />
      <RangeForm report={report} from={range?.days?.from ?? from} to={range?.days?.to ?? to} />
      {range === undefined ? null : <RangeDescription range={range} />}
      {tables?.map((table) => (
        <ReportTableCard
          table={table}
          csvPath={buildCsvPath(report, table, range)}
          includesNow={range?.includesNow === true}
        />
      ))}
      <div class="card">
        <h2>What is counted</h2>
        <ul class="plain">
          {report.definition.map((sentence) => (
            <li>{sentence}</li>
          ))}
        </ul>
      </div>
    </>
  );
  await sendStaffConsolePage(ctx, { current: REPORTS_PATH, heading: report.title, problem, children }, status);
}

function RangeForm({ report, from, to }: Pick<ReportPageProps, 'report' | 'from' | 'to'>): VNode {
  const path = `${REPORTS_PATH}${report.slug}/`;
  return (
    <div class="card">
      <form method="get" action={path} class="inline">
        <TextField id="from" type="date" name="from" label="From (UTC)" value={from} />
        <TextField id="to" type="date" name="to" label="To (UTC)" value={to} />
        <button type="submit">Show</button>
      </form>
      <p class="hint">
        Without dates: the {report.defaultRange}. <a href={path}>Reset</a>
      </p>
    </div>
  );
}

function RangeDescription({
  range: { since, until, previousSince, days, includesNow },
}: {
  range: ReportRange;
}): VNode {
  const describe = (start: Date, end: Date) =>
    days === null
      ? `${formatDateTime(start)} to ${formatDateTime(end)}`
      : `${formatDate(start)} to ${formatDate(addMilliseconds(end, -DAY_MS))}`;
  return (
    <p class="quiet">
      {describe(since, until)} in UTC, compared with {describe(previousSince, since)}.
      {includesNow ? ` The range is not over: it includes the time until ${formatDateTime(now())} only.` : ''}
    </p>
  );
}

function buildCsvPath({ slug }: ReportDefinition, { key }: ReportTable, range: ReportRange | undefined): string {
  const query = new URLSearchParams({ ...range?.days, format: 'csv', table: key });
  return `${REPORTS_PATH}${slug}/?${query.toString()}`;
}
