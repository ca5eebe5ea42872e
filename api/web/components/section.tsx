import type { ComponentChildren, VNode } from 'preact';

interface SectionProps {
  id: string;
  title: ComponentChildren;
  /** Further classes of the card. */
  class?: 'stack' | 'wider';
  /** Links beside the heading. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** Card of a page, with its heading and the actions on its subject. */
export function Section({ id, title, class: name, actions, children }: SectionProps): VNode {
  const heading = <h2 id={id}>{title}</h2>;
  return (
    <section class={name === undefined ? 'card' : `card ${name}`} aria-labelledby={id}>
      {actions == null ? (
        heading
      ) : (
        <div class="heading">
          {heading}
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

/** A name with its value; null for one that the list leaves out. */
export type NamedFact = readonly [name: ComponentChildren, value: ComponentChildren] | null;

/** List of names and values. */
export function Facts({ facts }: { facts: readonly NamedFact[] }): VNode {
  return (
    <dl>
      {facts.map((fact) =>
        fact === null ? null : (
          <>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </>
        ),
      )}
    </dl>
  );
}
