import {
  buildExampleRequest,
  type ExampleRequest,
  findExampleModel,
  getExampleRequest,
} from '../../../shared/lib/catalog/exampleRequests.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, getExampleCharge } from '../../openapi/examples.ts';

const EXAMPLE_PROMPT = 'A lighthouse at dusk';
const VIDEO_PROMPT = 'Waves against a lighthouse';

const buildCreateExample = ({ model, params }: ExampleRequest, prompt = EXAMPLE_PROMPT) => ({
  model: model.slug,
  prompt,
  params,
});

/** Builds the body of a create for each kind of which a model is offered. */
export const buildCreateExamples = () =>
  Object.fromEntries(
    (['image', 'video'] as const).flatMap((kind) => {
      const model = findExampleModel(kind);
      const prompt = kind === 'image' ? EXAMPLE_PROMPT : VIDEO_PROMPT;
      return model === undefined ? [] : [[kind, buildCreateExample(buildExampleRequest(model), prompt)]];
    }),
  );

/** Builds the body of an estimate. */
export const buildEstimateExample = () => buildCreateExample(getExampleRequest());

/** Builds the estimate for {@link buildEstimateExample}. */
export function buildExampleEstimate() {
  const { model, shownParams } = getExampleRequest();
  const { credits, granted, balance } = getExampleCharge();
  return {
    model: model.slug,
    params: shownParams,
    credits,
    balance: granted,
    balance_after: balance,
    affordable: true,
    usual_seconds: 7,
    refusal: null,
  };
}

/** Builds the generation of the example request in its states. */
export function buildExampleGenerations() {
  const { model, shownParams, credits } = getExampleRequest();
  const queued = {
    uuid: EXAMPLE_UUID,
    model: model.slug,
    model_name: model.name,
    kind: model.kind,
    prompt: EXAMPLE_PROMPT,
    params: shownParams,
    status: 'queued',
    output_url: null,
    thumbnail_url: null,
    credits_charged: credits,
    error_message: null,
    created_at: EXAMPLE_TIMESTAMP,
    completed_at: null,
    duration_ms: null,
    is_watermarked: false,
  };
  const succeeded = {
    ...queued,
    status: 'succeeded',
    output_url: `https://cdn.example.org/4f/8c1d/${model.kind === 'image' ? 'image.png' : 'video.mp4'}`,
    thumbnail_url: 'https://cdn.example.org/4f/8c1d/thumbnail.webp',
    completed_at: '2026-11-21T09:30:07.000Z',
    duration_ms: 7_000,
  };
  const canceled = {
    ...queued,
    status: 'failed',
    error_message: 'Canceled.',
    completed_at: '2026-11-21T09:30:02.000Z',
    duration_ms: 2_000,
  };
  return { queued, succeeded, canceled };
}
