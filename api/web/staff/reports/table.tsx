import type { VNode } from 'preact';
import type { Measure, ReportRow, ReportTable } from '../../../../shared/domain/reports/report.ts';
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
        <div class="scrolls wide" tabIndex={0} role="region" aria-label={title}>
          <table class="report">
            <caption class="unseen">{title}</caption>
            <thead>
              <tr>
                {dimensions.map(({ label }) => (
                  <th scope="col">{label}</th>
                ))}
                {measures.map(({ label }) => (
                  <th scope="col" class="number">
                    {label}
                  </th>
                ))}
                {details.map(({ label }) => (
                  <th scope="col">{label}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, ROWS_SHOWN).map((row) => (
                <Row row={row} measures={measures} />
              ))}
            </tbody>
            {total === undefined ? null : (
              <tfoot>
                <Row row={total} measures={measures} />
              </tfoot>
            )}
          </table>
        </div>
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

function Row({
  row: { labels, amounts, details = [] },
  measures,
}: {
  row: ReportRow;
  measures: readonly Measure[];
}): VNode {
  const [first, ...others] = labels;
  return (
    <tr>
      <th scope="row">{first}</th>
      {others.map((label) => (
        <td class={getTextClass(label)}>{label}</td>
      ))}
      {measures.map(({ unit, isCompared }, index) => {
        const amount = amounts[index] ?? { value: null, previous: null };
        return (
          <td class="number">
            {formatFigure(amount.value, unit)}
            {isCompared === false ? null : (
              <div class="quiet small">
                {formatFigure(amount.previous, unit)} before
                <br />
                {describeChange(amount, unit)}
              </div>
            )}
          </td>
        );
      })}
      {details.map((text) => (
        <td class={getTextClass(text)}>{shortenTime(text)}</td>
      ))}
    </tr>
  );
}

/** Leaves out seconds, which only the CSV file has. Other texts stay as they are. */
function shortenTime(text: string): string {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? text.slice(0, 16).replace('T', ' ') : text;
}

/** Longer texts wrap; identifiers and times do not. */
const ONE_LINE_CHARACTERS = 40;

function getTextClass(text: string): string | undefined {
  return text.length > ONE_LINE_CHARACTERS ? 'long' : undefined;
}
