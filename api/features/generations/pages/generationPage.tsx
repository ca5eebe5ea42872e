import type { VNode } from 'preact';
import type { GenerationContext } from '../../../../shared/domain/generations/readContext.ts';
import type { Generation } from '../../../../shared/tables/Generation.ts';
import { truncateText } from '../../../../shared/lib/truncateText.ts';
import type { Context } from '../../../context.ts';
import { mayDo, type Outcomes, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { TEST_QUERY } from '../../../web/components/testData.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { buildCurl } from '../../../web/components/requestSamples.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { Time } from '../../../web/components/time.tsx';
import { t as shared } from '../../../web/texts.ts';
import { Facts, Section } from '../../../web/components/section.tsx';
import {
  GenerationActions,
  getShownError,
  Previews,
  type ShownGeneration,
  StatusTag,
  toShownGeneration,
} from './generationParts.tsx';
import { GENERATION as t, STATUSES } from './texts.ts';
import { LIBRARY_PATH } from './view.tsx';

const NAME_CHARACTERS = 60;

const OUTCOMES = {
  canceled: t.canceled,
  'cancel-requested': t.cancelRequested,
  'not-canceled': t.hasEnded,
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
      <section class="card beside" id="generation" aria-label={t.result()} data-live={isQueued ? 'element' : undefined}>
        <div class="stack">
          <Previews generation={shown} name={name} />
        </div>
        <div class="stack">
          <GenerationFacts generation={shown} createdAt={generation.created_at} />
          <GenerationActions generation={shown} name={name} mayChange={mayDo(ctx, 'createGenerations')} />
        </div>
      </section>
      {isQueued ? (
        <noscript>
          <p>{t.reloadForResult()}</p>
        </noscript>
      ) : null}
      <Section id="prompt" title={t.prompt()}>
        <CopyText id="prompt-text" text={shown.prompt} label={t.thePrompt()} />
      </Section>
      <Section id="request" title={t.request()}>
        <Origin context={context} />
        <h3>UUID</h3>
        <CopyText id="uuid" text={shown.uuid} label={t.theUuid()} />
        {shown.metadata === undefined ? null : (
          <>
            <h3>{t.metadata()}</h3>
            <CopyText id="metadata" text={JSON.stringify(shown.metadata, null, 2)} label={t.theMetadata()} />
          </>
        )}
        <details>
          <summary>{t.createAnother()}</summary>
          <CopyText id="request-text" text={buildCurl('YOUR_API_KEY', toRequest(shown))} label={t.theRequest()} />
        </details>
      </Section>
      <Neighbors context={context} query={isTest ? `?${TEST_QUERY}` : ''} />
    </>
  );
  await sendAccountAreaPage(ctx, {
    current: LIBRARY_PATH,
    heading: t.generation(),
    title: t.title({ name }),
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
  if (key !== null) return <p>{t.createdWithKey({ name: key })}</p>;
  return application === null ? null : <p>{t.createdByApplication({ name: application })}</p>;
}

/** Links to the generations beside one in the library, and back to the list. */
function Neighbors({ context, query }: ContextProps & { query: string }): VNode {
  const { newer_uuid: newer = null, older_uuid: older = null } = context ?? {};
  return (
    <nav class="pages" aria-label={t.generations()}>
      {newer === null ? null : (
        <a class="button slight" href={`${LIBRARY_PATH}${newer}/${query}`} rel="prev">
          {t.newer()}
        </a>
      )}
      <a href={`${LIBRARY_PATH}${query}`}>{t.back()}</a>
      {older === null ? null : (
        <a class="button slight" href={`${LIBRARY_PATH}${older}/${query}`} rel="next">
          {t.older()}
        </a>
      )}
    </nav>
  );
}

function GenerationFacts({ generation, createdAt }: { generation: ShownGeneration; createdAt: Date }): VNode {
  const { duration_ms: durationMs } = generation;
  const error = getShownError(generation);
  return (
    <Facts
      facts={[
        [
          shared.status(),
          <>
            <StatusTag generation={generation} />{' '}
            {generation.isTest ? <span class="tag">{shared.testTag()}</span> : null}
          </>,
        ],
        error === null ? null : [t.error(), <span lang="en">{error}</span>],
        [shared.model(), generation.model_name],
        [t.parameters(), describeParams(generation.params)],
        [shared.credits(), formatNumber(generation.credits_charged)],
        [shared.created(), <Time at={createdAt} />],
        durationMs === null ? null : [shared.duration(), STATUSES.seconds({ seconds: Math.round(durationMs / 1_000) })],
      ]}
    />
  );
}

const toRequest = ({ model, prompt, params }: ShownGeneration) => ({ model, prompt, params });

function describeParams(params: object): string {
  return Object.entries(params)
    .map(
      ([name, value]) =>
        `${name.replaceAll('_', ' ')}: ${typeof value === 'boolean' ? (value ? t.yes() : t.no()) : value}`,
    )
    .join(', ');
}
