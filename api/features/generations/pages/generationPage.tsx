import type { VNode } from 'preact';
import type { GenerationContext } from '../../../../shared/domain/generations/readContext.ts';
import type { Generation } from '../../../../shared/tables/Generation.ts';
import type { Context } from '../../../context.ts';
import { type Outcomes, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { TEST_QUERY } from '../../../web/components/testData.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { buildCurl } from '../../../web/components/requestSamples.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { Time } from '../../../web/components/time.tsx';
import {
  GenerationActions,
  getShownError,
  Preview,
  type ShownGeneration,
  StatusTag,
  toShownGeneration,
  truncateText,
} from './generationParts.tsx';
import { LIBRARY_PATH } from './view.tsx';

const NAME_CHARACTERS = 60;

const OUTCOMES = {
  canceled: ['Generation canceled', 'The generation is canceled and its credits are refunded.'],
  'cancel-requested': [
    'Cancellation requested',
    'The credits are refunded if the model has not started. Otherwise the generation continues.',
  ],
  'not-canceled': ['Generation has ended', 'The generation had ended before it could be canceled.'],
} as const satisfies Outcomes;
/** Outcome of a cancellation, as the page shows it. */
export type CancelOutcome = keyof typeof OUTCOMES;

/** Sends the page of one generation. While it is in progress, the script of the page updates it. */
export async function sendGenerationPage(
  ctx: Context,
  generation: Generation,
  context: GenerationContext | undefined,
  isTest: boolean,
): Promise<void> {
  const shown = toShownGeneration(generation, isTest);
  const name = truncateText(shown.prompt, NAME_CHARACTERS);
  const isQueued = shown.status === 'queued';
  const children = (
    <>
      <section class="card stack" id="generation" aria-label="Result" data-live={isQueued ? 'element' : undefined}>
        <Preview generation={shown} name={name} />
        <Facts generation={shown} createdAt={generation.created_at} />
        <GenerationActions generation={shown} name={name} />
      </section>
      {isQueued ? (
        <noscript>
          <p>Reload the page to see the result.</p>
        </noscript>
      ) : null}
      <section class="card" aria-labelledby="prompt">
        <h2 id="prompt">Prompt</h2>
        <CopyText id="prompt-text" text={shown.prompt} label="the prompt" />
      </section>
      <section class="card" aria-labelledby="request">
        <h2 id="request">Request</h2>
        <Origin context={context} />
        <h3>UUID</h3>
        <CopyText id="uuid" text={shown.uuid} label="the UUID" />
        {shown.metadata === undefined ? null : (
          <>
            <h3>Metadata</h3>
            <CopyText id="metadata" text={JSON.stringify(shown.metadata, null, 2)} label="the metadata" />
          </>
        )}
        <details>
          <summary>Create another one</summary>
          <CopyText id="request-text" text={buildCurl('YOUR_API_KEY', toRequest(shown))} label="the request" />
        </details>
      </section>
      <Neighbors context={context} query={isTest ? `?${TEST_QUERY}` : ''} />
    </>
  );
  await sendAccountAreaPage(ctx, {
    current: LIBRARY_PATH,
    heading: 'Generation',
    title: `Generation: ${name}`,
    outcomes: OUTCOMES,
    children,
    hasMedia: true,
  });
}

interface ContextProps {
  context: GenerationContext | undefined;
}

/** Names the API key or application that created a generation. */
function Origin({ context }: ContextProps): VNode | null {
  const { key_name: key = null, application_name: application = null } = context ?? {};
  if (key !== null) return <p>Created with the API key “{key}”.</p>;
  return application === null ? null : <p>Created by the application {application}.</p>;
}

/** Links to the generations beside one in the library, and back to the list. */
function Neighbors({ context, query }: ContextProps & { query: string }): VNode {
  const { newer_uuid: newer = null, older_uuid: older = null } = context ?? {};
  return (
    <nav class="pages" aria-label="Generations">
      {newer === null ? null : (
        <a class="button slight" href={`${LIBRARY_PATH}${newer}/${query}`} rel="prev">
          Newer
        </a>
      )}
      <a href={`${LIBRARY_PATH}${query}`}>Back to the library</a>
      {older === null ? null : (
        <a class="button slight" href={`${LIBRARY_PATH}${older}/${query}`} rel="next">
          Older
        </a>
      )}
    </nav>
  );
}

function Facts({ generation, createdAt }: { generation: ShownGeneration; createdAt: Date }): VNode {
  const { duration_ms: durationMs } = generation;
  const error = getShownError(generation);
  return (
    <dl>
      <dt>Status</dt>
      <dd>
        <StatusTag generation={generation} /> {generation.isTest ? <span class="tag">Test</span> : null}
      </dd>
      {error === null ? null : (
        <>
          <dt>Error</dt>
          <dd>{error}</dd>
        </>
      )}
      <dt>Model</dt>
      <dd>{generation.model_name}</dd>
      <dt>Parameters</dt>
      <dd>{describeParams(generation.params)}</dd>
      <dt>Credits</dt>
      <dd>{formatNumber(generation.credits_charged)}</dd>
      <dt>Created (UTC)</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
      {durationMs === null ? null : (
        <>
          <dt>Duration</dt>
          <dd>{formatNumber(Math.round(durationMs / 1_000))} s</dd>
        </>
      )}
    </dl>
  );
}

const toRequest = ({ model, prompt, params }: ShownGeneration) => ({ model, prompt, params });

function describeParams(params: object): string {
  return Object.entries(params)
    .map(
      ([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'boolean' ? (value ? 'yes' : 'no') : value}`,
    )
    .join(', ');
}
