import type { VNode } from 'preact';
import { listMetadataFilters } from '../../../../shared/domain/generations/metadata.ts';
import type { ListPage } from '../../../../shared/lib/pagination.ts';
import type { Generation } from '../../../../shared/tables/Generation.ts';
import { truncateText } from '../../../../shared/lib/truncateText.ts';
import type { ModelKind } from '../../../../shared/spec/catalog.ts';
import type { GenerationStatus } from '../../../../shared/spec/states.ts';
import type { Context } from '../../../context.ts';
import { mayDo, type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import {
  describeEmptyList,
  type FilterChoice,
  FilteredPageLinks,
  FilterForm,
  MatchCount,
} from '../../../web/components/filterForm.tsx';
import { PageLinks } from '../../../web/components/pageLinks.tsx';
import { ModeNote, type ShownAccount, TEST_QUERY } from '../../../web/components/testData.tsx';
import { Time } from '../../../web/components/time.tsx';
import { t as shared } from '../../../web/texts.ts';
import { t as names } from '../../texts.ts';
import {
  GenerationActions,
  getShownError,
  Poster,
  type ShownGeneration,
  StatusTag,
  toShownGeneration,
} from './generationParts.tsx';
import { STATUSES, t } from './texts.ts';

export const LIBRARY_PATH = '/account/library/';
/** Texts are cut in the list, so that a page of long prompts stays small. */
const LISTED_PROMPT_CHARACTERS = 200;
const LABEL_CHARACTERS = 60;

const OUTCOMES = { deleted: t.deleted } as const satisfies Outcomes;

function listFilters(): FilterChoice[] {
  const statuses: Record<GenerationStatus, string> = {
    queued: STATUSES.queued(),
    succeeded: STATUSES.succeeded(),
    failed: t.failedOrCanceled(),
  };
  const kinds: Record<ModelKind, string> = { video: t.videos(), image: t.images() };
  return [
    { name: 'status', label: shared.status(), options: statuses },
    { name: 'kind', label: t.type(), options: kinds },
  ];
}

interface ShownLibrary {
  shown: ShownAccount;
  list: ListPage<Generation>;
  /** Filters of the list; empty for all generations. */
  query: string;
}

/** Sends one page of the library. Generations in progress are updated by the script of the page. */
export async function sendLibraryPage(
  ctx: Context,
  { shown, list, query }: ShownLibrary,
  flash: PageProblem = {},
  status = 200,
): Promise<void> {
  const queued = list.items.filter((generation) => generation.status === 'queued').length;
  const children = (
    <>
      <ModeNote shown={shown} path={LIBRARY_PATH} />
      {shown.isTest || (list.totalItems === 0 && query === '') ? null : (
        <FilterForm
          path={LIBRARY_PATH}
          choices={listFilters()}
          kept={['model', ...listMetadataFilters(ctx.query)]}
          parameters={ctx.query}
        />
      )}
      {query === '' ? null : <MatchCount list={list} />}
      {queued === 0 ? null : <ProgressNote queued={queued} />}
      {list.items.length === 0 ? (
        <div class="card">
          <p>{describeEmptyList(list, query, shown.isTest ? t.noTestGenerations() : t.noGenerations())}</p>
          {list.totalItems === 0 && query === '' && !shown.isTest && mayDo(ctx, 'manageKeys') ? (
            <div class="buttons">
              <a class="button main" href="/account/keys/">
                {shared.createKey()}
              </a>
              <a class="button" href="/account/applications/#connect">
                {shared.connectAssistant()}
              </a>
            </div>
          ) : null}
        </div>
      ) : (
        <ul class="gallery">
          {list.items.map((generation) => (
            <GenerationCard
              generation={toShownGeneration(generation, shown.isTest)}
              createdAt={generation.created_at}
              mayChange={mayDo(ctx, 'createGenerations')}
            />
          ))}
        </ul>
      )}
      {shown.isTest ? (
        <PageLinks list={list} path={LIBRARY_PATH} query={query === '' ? TEST_QUERY : `${TEST_QUERY}&${query}`} />
      ) : (
        <FilteredPageLinks list={list} path={LIBRARY_PATH} query={query} />
      )}
    </>
  );
  await sendAccountAreaPage(
    ctx,
    {
      current: LIBRARY_PATH,
      heading: shown.isTest ? t.testLibrary() : names.library(),
      outcomes: OUTCOMES,
      ...flash,
      children,
      hasMedia: true,
    },
    status,
  );
}

/** Number of generations in progress. Without the script, reloading the page shows their results. */
function ProgressNote({ queued }: { queued: number }): VNode {
  return (
    <div class="progress">
      <p id="in-progress" role="status" data-live="text" data-done={t.allEnded()}>
        {t.inProgress({ queued })}
      </p>
      <noscript>
        <p>{t.reloadForResults()}</p>
      </noscript>
    </div>
  );
}

interface CardProps {
  generation: ShownGeneration;
  createdAt: Date;
  mayChange: boolean;
}

function GenerationCard({ generation: shown, createdAt, mayChange }: CardProps): VNode {
  const error = getShownError(shown);
  const isQueued = shown.status === 'queued';
  const name = truncateText(shown.prompt, LABEL_CHARACTERS);
  return (
    <li class="card" id={`generation-${shown.uuid}`} data-live={isQueued ? 'element' : undefined}>
      <a href={`${LIBRARY_PATH}${shown.uuid}/${shown.isTest ? `?${TEST_QUERY}` : ''}`}>
        <Poster generation={shown} />
        <span class="prompt">{truncateText(shown.prompt, LISTED_PROMPT_CHARACTERS)}</span>
      </a>
      <p class="quiet small">
        {t.facts({
          status: () => <StatusTag generation={shown} />,
          model: shown.model_name,
          credits: shown.credits_charged,
          time: () => <Time at={createdAt} />,
        })}
      </p>
      {error === null ? null : (
        <p class="small" lang="en">
          {error}
        </p>
      )}
      <GenerationActions generation={shown} name={name} mayChange={mayChange} />
    </li>
  );
}
