import type { ComponentChildren, VNode } from 'preact';
import type { Measure, ReportRow, ReportTable } from '../../../../../shared/domain/reports/report.ts';
import { Table } from '../../../../web/components/table.tsx';
import { describeChange, formatFigure } from './format.ts';

/** Rows of a table on a page, so that pages stay small. The CSV file has all rows. */
const ROWS_SHOWN = 60;

/** A table of a report, with a link to its CSV file. */
export function ReportTableCard({ table, csvPath }: { table: ReportTable; csvPath: string }): VNode {
  const { title, note, dimensions, measures, details = [], rows, total } = table;
  const hidden = rows.length - ROWS_SHOWN;
  return (
    <div class="card">
      <h2>{title}</h2>
      <p class="quiet small">{note}</p>
      {rows.length === 0 ? (
        <p>None in this range.</p>
      ) : (
        <Table
          class="report"
          label={title}
          columns={[...dimensions, ...measures, ...details].map(({ label }) => label)}
          numeric={measures.map(({ label }) => label)}
          hasRowHeadings
          rows={rows.slice(0, ROWS_SHOWN).map((row) => listCells(row, measures))}
          total={total === undefined ? undefined : listCells(total, measures)}
        />
      )}
      {hidden > 0 ? <p>{hidden} more rows are in the CSV file.</p> : null}
      <p>
        <a href={csvPath} download>
          Download as CSV<span class="unseen">: {title}</span>
        </a>
      </p>
    </div>
  );
}

function listCells({ labels, amounts, details = [] }: ReportRow, measures: readonly Measure[]): ComponentChildren[] {
  return [
    ...labels.map(wrapLongText),
    ...measures.map(({ unit, isCompared }, index) => {
      const amount = amounts[index] ?? { value: null, previous: null };
      return (
        <>
          {formatFigure(amount.value, unit)}
          {isCompared === false ? null : (
            <div class="quiet small">
              {formatFigure(amount.previous, unit)} before
              <br />
              {describeChange(amount, unit)}
            </div>
          )}
        </>
      );
    }),
    ...details.map((text) => wrapLongText(shortenTime(text))),
  ];
}

/** Leaves out seconds, which only the CSV file has. Other texts stay as they are. */
function shortenTime(text: string): string {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? text.slice(0, 16).replace('T', ' ') : text;
}

/** Longer texts wrap; identifiers and times do not. */
const ONE_LINE_CHARACTERS = 40;

function wrapLongText(text: string): ComponentChildren {
  return text.length > ONE_LINE_CHARACTERS ? <div class="long">{text}</div> : text;
}
