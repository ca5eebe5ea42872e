import type { VNode } from 'preact';
import type { Generation } from '../../../../shared/tables/Generation.ts';
import type { Context } from '../../../context.ts';
import { type Outcomes, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { TEST_QUERY } from '../../../web/components/testData.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { buildCurl } from '../../../web/components/requestSamples.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { formatDateTime } from '../../../web/components/formatTime.ts';
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
export async function sendGenerationPage(ctx: Context, generation: Generation, isTest: boolean): Promise<void> {
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
        <p class="quiet">Send this to create another one.</p>
        <CopyText id="request-text" text={buildCurl('YOUR_API_KEY', toRequest(shown))} label="the request" />
      </section>
      <p>
        <a href={isTest ? `${LIBRARY_PATH}?${TEST_QUERY}` : LIBRARY_PATH}>Back to the library</a>
      </p>
    </>
  );
  await sendAccountAreaPage(ctx, {
    current: LIBRARY_PATH,
    heading: name,
    title: `Generation: ${name}`,
    outcomes: OUTCOMES,
    children,
    hasMedia: true,
  });
}

function Facts({ generation, createdAt }: { generation: ShownGeneration; createdAt: Date }): VNode {
  const { duration_ms: durationMs } = generation;
  const error = getShownError(generation);
  return (
    <dl>
      <dt>Status</dt>
      <dd>
        <StatusTag generation={generation} />
        {generation.isTest ? <span class="tag">Test</span> : null}
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
      {generation.metadata === undefined ? null : (
        <>
          <dt>Metadata</dt>
          <dd>{describePairs(generation.metadata)}</dd>
        </>
      )}
      <dt>Credits</dt>
      <dd>{formatNumber(generation.credits_charged)}</dd>
      <dt>Created (UTC)</dt>
      <dd>{formatDateTime(createdAt)}</dd>
      {durationMs === null ? null : (
        <>
          <dt>Duration</dt>
          <dd>{formatNumber(Math.round(durationMs / 1_000))} s</dd>
        </>
      )}
      <dt>UUID</dt>
      <dd>
        <CopyText id="uuid" text={generation.uuid} label="the UUID" />
      </dd>
    </dl>
  );
}

const toRequest = ({ model, prompt, params }: ShownGeneration) => ({ model, prompt, params });

function describeParams(params: object): string {
  return describePairs(
    Object.fromEntries(Object.entries(params).map(([name, value]) => [name.replaceAll('_', ' '), value])),
  );
}

function describePairs(pairs: object): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(', ');
}
