import type { VNode } from 'preact';
import type { ListPage } from '../../../shared/lib/pagination.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import type { ModelKind } from '../../../shared/spec/catalog.ts';
import type { GenerationStatus } from '../../../shared/spec/states.ts';
import type { Context } from '../../context.ts';
import { presentGeneration } from '../../rest/generations/presenter.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../components/accountPage.tsx';
import { type FilterChoice, FilteredPageLinks, FilterForm, MatchCount } from '../components/filterForm.tsx';
import { formatNumber } from '../components/formatAmount.ts';
import { formatDateTime } from '../components/formatTime.ts';

export const LIBRARY_PATH = '/account/library/';

const STATUS_TAGS = {
  queued: ['tag off', 'In progress'],
  succeeded: ['tag', 'Succeeded'],
  failed: ['tag warn', 'Failed, refunded'],
} as const;

const OUTCOMES = { deleted: ['Generation deleted', 'The generation is deleted.'] } as const satisfies Outcomes;

const STATUS_CHOICES: Record<GenerationStatus, string> = {
  queued: 'In progress',
  succeeded: 'Succeeded',
  failed: 'Failed',
};
const KIND_CHOICES: Record<ModelKind, string> = { video: 'Videos', image: 'Images' };
const FILTERS: readonly FilterChoice[] = [
  { name: 'status', label: 'Status', options: STATUS_CHOICES },
  { name: 'kind', label: 'Type', options: KIND_CHOICES },
];

interface ShownLibrary {
  list: ListPage<Generation>;
  /** Filters of the list; empty for all generations. */
  query: string;
}

/** Sends one page of the library. */
export function sendLibraryPage(
  ctx: Context,
  { list, query }: ShownLibrary,
  flash: PageProblem = {},
  status = 200,
): void {
  const children = (
    <>
      {list.totalItems === 0 && query === '' ? null : (
        <FilterForm path={LIBRARY_PATH} choices={FILTERS} parameters={ctx.query} />
      )}
      {query === '' ? null : <MatchCount list={list} />}
      {list.items.length === 0 ? (
        <p class="card">{describeEmptyPage(list, query)}</p>
      ) : (
        <ul class="gallery">
          {list.items.map((generation) => (
            <GenerationCard generation={generation} />
          ))}
        </ul>
      )}
      <FilteredPageLinks list={list} path={LIBRARY_PATH} query={query} />
    </>
  );
  sendAccountAreaPage(
    ctx,
    { current: LIBRARY_PATH, heading: 'Library', outcomes: OUTCOMES, ...flash, children, isWide: true, hasMedia: true },
    status,
  );
}

function describeEmptyPage({ totalItems }: ListPage<Generation>, query: string): string {
  if (totalItems > 0) return 'This page is empty.';
  if (query !== '') return 'No generations match these filters.';
  return 'No generations yet. What you create with the API or an assistant appears here.';
}

function GenerationCard({ generation }: { generation: Generation }): VNode {
  const shown = presentGeneration(generation);
  const [tagClass, statusText] = STATUS_TAGS[generation.status];
  return (
    <li class="card">
      <Preview {...shown} statusText={statusText} />
      <p class="prompt">{shown.prompt}</p>
      <p class="quiet small">
        <span class={tagClass}>{statusText}</span> {shown.model_name}, {formatNumber(shown.credits_charged)} credits,{' '}
        {formatDateTime(generation.created_at)}
      </p>
      {shown.error_message === null ? null : <p class="small">{shown.error_message}</p>}
      {shown.status === 'queued' ? <p class="quiet small">Reload the page to see the result.</p> : null}
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

type PreviewProps = ReturnType<typeof presentGeneration> & { statusText: string };

/** The picture, or a player for the video, with its thumbnail. Without a file the status, which the text below repeats. */
function Preview({ kind, prompt, output_url: url, thumbnail_url: thumbnail, statusText }: PreviewProps) {
  if (url === null)
    return (
      <div class="preview empty" aria-hidden="true">
        {statusText}
      </div>
    );
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
