import type { VNode } from 'preact';
import type { presentGeneration } from '../../../shared/presenters/generation.ts';

export type ShownGeneration = ReturnType<typeof presentGeneration>;

const STATUS_TAGS = {
  queued: ['tag off', 'In progress'],
  succeeded: ['tag', 'Succeeded'],
  failed: ['tag warn', 'Failed, refunded'],
} as const;

export function StatusTag({ status }: { status: keyof typeof STATUS_TAGS }): VNode {
  const [tagClass, text] = STATUS_TAGS[status];
  return <span class={tagClass}>{text}</span>;
}

interface PartProps {
  generation: ShownGeneration;
  /** The beginning of its prompt. */
  name: string;
}

/** The picture, or a player for the video, with its thumbnail. */
export function Preview({ generation, name }: PartProps): VNode {
  const { kind, output_url: url, thumbnail_url: thumbnail } = generation;
  if (url === null) return <div class="preview" aria-hidden="true" />;
  if (kind === 'video')
    return (
      <video class="preview" controls preload="none" poster={thumbnail ?? undefined} src={url} aria-label={name} />
    );
  return (
    <a href={url}>
      <img class="preview" src={thumbnail ?? url} alt={name} loading="lazy" />
    </a>
  );
}

/** Links to download, cancel and delete a generation. */
export function GenerationActions({ generation: { uuid, status, output_url: url }, name }: PartProps): VNode {
  return (
    <div class="buttons">
      {url === null ? null : (
        <a class="button slight" href={url} download aria-label={`Download: ${name}`}>
          Download
        </a>
      )}
      {status === 'queued' ? (
        <a class="button slight" href={`/account/library/${uuid}/cancel/`} aria-label={`Cancel: ${name}`}>
          Cancel
        </a>
      ) : null}
      <a class="button slight danger" href={`/account/library/${uuid}/delete/`} aria-label={`Delete: ${name}`}>
        Delete
      </a>
    </div>
  );
}

/** Cuts a text after a number of characters. */
export function truncateText(text: string, characters: number): string {
  const all = Array.from(text);
  return all.length <= characters
    ? text
    : `${all
        .slice(0, characters - 1)
        .join('')
        .trimEnd()}…`;
}
