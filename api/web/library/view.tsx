import type { VNode } from 'preact';
import type { ListPage } from '../../../shared/lib/pagination.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import type { Context } from '../../context.ts';
import { presentGeneration } from '../../rest/generations/presenter.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../components/accountPage.tsx';
import { formatNumber } from '../components/formatAmount.ts';
import { formatDateTime } from '../components/formatTime.ts';
import { PageLinks } from '../components/pageLinks.tsx';

export const LIBRARY_PATH = '/account/library/';

const STATUS_TAGS = {
  queued: ['tag off', 'In progress'],
  succeeded: ['tag', 'Succeeded'],
  failed: ['tag warn', 'Failed, refunded'],
} as const;

const OUTCOMES = { deleted: ['Generation deleted', 'The generation is deleted.'] } as const satisfies Outcomes;

/** Sends one page of the library. */
export function sendLibraryPage(ctx: Context, list: ListPage<Generation>, flash: PageProblem = {}, status = 200): void {
  const children = (
    <>
      {list.items.length === 0 ? (
        <p class="card">
          {list.totalItems === 0
            ? 'No generations yet. What you create with the API or an assistant appears here.'
            : 'This page is empty.'}
        </p>
      ) : (
        <ul class="gallery">
          {list.items.map((generation) => (
            <GenerationCard generation={generation} />
          ))}
        </ul>
      )}
      <PageLinks list={list} path={LIBRARY_PATH} />
    </>
  );
  sendAccountAreaPage(
    ctx,
    { current: LIBRARY_PATH, heading: 'Library', outcomes: OUTCOMES, ...flash, children, isWide: true, hasMedia: true },
    status,
  );
}

function GenerationCard({ generation }: { generation: Generation }): VNode {
  const shown = presentGeneration(generation);
  const [tagClass, statusText] = STATUS_TAGS[generation.status];
  return (
    <li class="card">
      <Preview {...shown} />
      <p class="prompt">{shown.prompt}</p>
      <p class="quiet small">
        <span class={tagClass}>{statusText}</span> {shown.model_name}, {formatNumber(shown.credits_charged)} credits,{' '}
        {formatDateTime(generation.created_at)}
      </p>
      {shown.error_message === null ? null : <p class="small">{shown.error_message}</p>}
      <div class="buttons">
        {shown.output_url === null ? null : (
          <a class="button slight" href={shown.output_url} download aria-label={`Download: ${shown.prompt}`}>
            Download
          </a>
        )}
        <a
          class="button slight danger"
          href={`${LIBRARY_PATH}${shown.uuid}/delete/`}
          aria-label={`Delete: ${shown.prompt}`}
        >
          Delete
        </a>
      </div>
    </li>
  );
}

/** The picture, or a player for the video, with its thumbnail. */
function Preview({ kind, prompt, output_url: url, thumbnail_url: thumbnail }: ReturnType<typeof presentGeneration>) {
  if (url === null) return <div class="preview" aria-hidden="true" />;
  if (kind === 'video')
    return (
      <video class="preview" controls preload="none" poster={thumbnail ?? undefined} src={url} aria-label={prompt} />
    );
  return (
    <a href={url}>
      <img class="preview" src={thumbnail ?? url} alt={prompt} loading="lazy" />
    </a>
  );
}
