import type { ComponentChildren, VNode } from 'preact';

type Cells = readonly ComponentChildren[];

interface TableProps {
  /** Accessible name of the table. */
  label: string;
  columns: readonly string[];
  /** Names of the columns with numbers, which are aligned to the right. */
  numeric?: readonly string[];
  rows: readonly Cells[];
  /** Row of sums at the end. */
  total?: Cells | undefined;
  /** True if the first cell of a row is its heading. */
  hasRowHeadings?: boolean;
  /** Shown instead of a table without rows. */
  empty?: string | undefined;
  class?: string;
}

/** Number of columns from which a table scrolls on a phone instead of shrinking its columns. */
const MANY_COLUMNS = 5;

/** Table that scrolls sideways where it is wider than the window. Focusable, so that the keyboard can scroll it. */
export function Table(props: TableProps): VNode {
  const { label, columns, numeric = [], rows, total, hasRowHeadings = false, empty, class: name } = props;
  if (rows.length === 0 && empty !== undefined) return <p class="quiet">{empty}</p>;
  const classes = columns.map((column) => (numeric.includes(column) ? 'number' : undefined));
  const renderRow = (cells: Cells) => (
    <tr>
      {cells.map((cell, index) =>
        hasRowHeadings && index === 0 ? <th scope="row">{cell}</th> : <td class={classes[index]}>{cell}</td>,
      )}
    </tr>
  );
  const tableClasses = [name, columns.length >= MANY_COLUMNS ? 'many' : undefined].filter((part) => part !== undefined);
  return (
    <div class="scrolls wide" tabIndex={0} role="group" aria-label={label}>
      <table class={tableClasses.length === 0 ? undefined : tableClasses.join(' ')}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th scope="col" class={classes[index]}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{rows.map(renderRow)}</tbody>
        {total === undefined ? null : <tfoot>{renderRow(total)}</tfoot>}
      </table>
    </div>
  );
}
