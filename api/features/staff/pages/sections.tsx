import type { ComponentChildren, VNode } from 'preact';
import { config } from '../../../../shared/lib/config.ts';

/** Part of a card, with a heading of its own. */
export interface Part {
  id: string;
  title: string;
  isEmpty: boolean;
  content: ComponentChildren;
}

/** Parts of a card. Those that are empty are one line at its end. */
export function Parts({ parts }: { parts: readonly Part[] }): VNode {
  const empty = parts.filter(({ isEmpty }) => isEmpty).map(({ title }) => title);
  return (
    <>
      {parts
        .filter(({ isEmpty }) => !isEmpty)
        .map(({ id, title, content }) => (
          <div class="part">
            <h3 id={id}>{title}</h3>
            {content}
          </div>
        ))}
      {empty.length === 0 ? null : <p class="quiet part">None: {empty.join(', ')}.</p>}
    </>
  );
}

/** A stored output. Its page must allow media. */
export function OutputPreview({ path, isVideo }: { path: string | null; isVideo: boolean }): VNode {
  if (path === null) return <p class="apart quiet">No output.</p>;
  const url = `${config.CDN_URL}/${path}`;
  return (
    <div class="apart">
      {isVideo ? (
        <video class="preview" controls preload="none" src={url} aria-label="Output" />
      ) : (
        <img class="preview" src={url} alt="Output" />
      )}
      <p class="apart">
        <a href={url}>Open the output</a>
      </p>
    </div>
  );
}
