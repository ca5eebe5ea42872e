import type { ComponentChildren, VNode } from 'preact';

/** Figure with its name above and a note below, beside others in an element of the class `facts`. */
export function Fact({ title, value, note }: { title: string; value: string; note?: ComponentChildren }): VNode {
  return (
    <div>
      <div class="quiet small">{title}</div>
      <div class="figure">{value}</div>
      {note === undefined ? null : <div class="quiet small">{note}</div>}
    </div>
  );
}
