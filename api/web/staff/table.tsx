import type { ComponentChildren, VNode } from 'preact';

interface TableProps {
  /** Name of the table for screen readers. */
  label: string;
  headings: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
  /** Shown instead of a table without rows. */
  empty: string;
}

/** Table that scrolls sideways on narrow screens. */
export function Table({ label, headings, rows, empty }: TableProps): VNode {
  if (rows.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <div class="scrolls wide top-aligned" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            {headings.map((heading) => (
              <th scope="col">{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells) => (
            <tr>
              {cells.map((cell) => (
                <td>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** List of names and values. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }): VNode {
  return (
    <dl>
      {facts.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

/** Card of a page, with its heading. */
export function Section({ id, title, children }: { id: string; title: string; children: ComponentChildren }): VNode {
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
