import type { ComponentChildren, VNode } from 'preact';
import type {
  Amount,
  Detail,
  Measure,
  ReportChart,
  ReportRow,
  ReportTable,
  Unit,
} from '../../../../../shared/domain/reports/report.ts';
import { StackedBarChart } from '../../../../web/components/charts.tsx';
import { formatDate } from '../../../../web/components/formatTime.ts';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { getGenerationPath } from '../actions/generationActions.tsx';
import { describeChange, formatFigure } from './format.ts';

/** Rows of a table on a page, so that pages stay small. The CSV file has all rows. */
const ROWS_SHOWN = 60;

interface ReportTableProps {
  table: ReportTable;
  csvPath: string;
  /** Says that the last bar of a chart is of a time that is not over. */
  includesNow: boolean;
}

/** A table of a report with its charts, and a link to its CSV file. */
export function ReportTableCard({ table, csvPath, includesNow }: ReportTableProps): VNode {
  const { title, note, dimensions, measures, details = [], charts = [], rows, total } = table;
  const hidden = rows.length - ROWS_SHOWN;
  return (
    <div class="card">
      <h2>{title}</h2>
      <p class="quiet small">{note}</p>
      {charts.map((chart) => (
        <Chart chart={chart} isLastPartial={includesNow} />
      ))}
      <Table
        class="report"
        label={title}
        columns={[...dimensions, ...measures, ...details].map(({ label }) => label)}
        numeric={measures.map(({ label }) => label)}
        hasRowHeadings
        empty="None in this range."
        rows={rows.slice(0, ROWS_SHOWN).map((row) => listCells(row, measures, details))}
        total={total === undefined ? undefined : listCells(total, measures, details)}
      />
      {hidden > 0 ? <p>{hidden} more rows are in the CSV file.</p> : null}
      <p>
        <a href={csvPath} download>
          Download as CSV<span class="unseen">: {title}</span>
        </a>
      </p>
    </div>
  );
}

function Chart({ chart, isLastPartial }: { chart: ReportChart; isLastPartial: boolean }): VNode {
  const { title, unit, ...data } = chart;
  return (
    <div class="part">
      <h3>{title}</h3>
      <StackedBarChart
        {...data}
        title={title}
        format={(value) => formatFigure(value, unit)}
        isLastPartial={isLastPartial}
        empty="None in this range."
      />
    </div>
  );
}

function listCells(row: ReportRow, measures: readonly Measure[], details: readonly Detail[]): ComponentChildren[] {
  return [
    ...row.labels.map(describeText),
    ...measures.map(({ unit, isCompared }, index) => {
      const amount = row.amounts[index] ?? { value: null, previous: null };
      return (
        <>
          {formatFigure(amount.value, unit)}
          {isCompared === false ? null : <Change amount={amount} unit={unit} />}
        </>
      );
    }),
    ...details.map(({ isGeneration }, index) => {
      const text = row.details?.[index] ?? '';
      return isGeneration && text !== '' ? <GenerationLink uuid={text} /> : describeText(text);
    }),
  ];
}

/** The change since the previous period, whose figure is read out and shown by the pointer. */
function Change({ amount, unit }: { amount: Amount; unit: Unit }): VNode | null {
  const change = describeChange(amount, unit);
  if (change === '') return null;
  const before = `${formatFigure(amount.previous, unit)} before`;
  return (
    <div class="quiet small" title={before}>
      {change}
      <span class="unseen">, {before}</span>
    </div>
  );
}

/** Uuids begin with the time, so that only their ends differ at a glance. */
function GenerationLink({ uuid }: { uuid: string }): VNode {
  return (
    <a href={getGenerationPath({ uuid })}>
      <span class="unseen">Generation </span>
      {uuid.slice(-12)}
    </a>
  );
}

/** Longer texts wrap; identifiers and times do not. */
const ONE_LINE_CHARACTERS = 40;

/** Shows days and times as on all pages. The CSV file has them as they are. */
function describeText(text: string): ComponentChildren {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return formatDate(new Date(text));
  if (/^\d{4}-\d\d-\d\d[T ][\d:.]+Z?$/.test(text)) return <Time at={new Date(text.replace(/Z?$/, 'Z'))} />;
  return text.length > ONE_LINE_CHARACTERS ? <div class="long">{text}</div> : text;
}
