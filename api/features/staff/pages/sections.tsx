import type { ComponentChildren, VNode } from 'preact';

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
