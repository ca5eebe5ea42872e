import type { ComponentChildren, VNode } from 'preact';

interface ScrollingTableProps {
  /** Accessible name of the table and of the area that scrolls. */
  label: string;
  columns: readonly string[];
  /** Number of columns at the end that contain numbers. */
  numbers?: number;
  /** The rows. */
  children: ComponentChildren;
}

/** Table that scrolls sideways where it is wider than the window. Focusable, so that the keyboard can scroll it. */
export function ScrollingTable({ label, columns, numbers = 0, children }: ScrollingTableProps): VNode {
  return (
    <div class="scrolls wide" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((name, index) => (
              <th key={name} scope="col" class={index >= columns.length - numbers ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
