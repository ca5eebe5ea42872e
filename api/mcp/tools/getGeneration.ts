import Type from 'typebox';
import { readGeneration } from '../../../shared/domain/generations/read.ts';
import { isUuid } from '../../../shared/lib/uuid.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { MCP_DEFAULT_WAIT_SECONDS, WAIT_MAX_SECONDS } from '../../../shared/spec/limits.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { presentGeneration } from '../../../shared/presenters/generation.ts';
import { defineTool, type ToolContext } from './defineTool.ts';
import { buildResourceLinks, type PresentedGeneration, withNextStep } from './callToolResult.ts';

/** Interval of the progress notifications during a wait. */
const PROGRESS_INTERVAL_MS = 2_000;

const GetGenerationInput = Type.Object(
  {
    uuid: Type.String({ description: 'The uuid that generate_image or generate_video returned.' }),
    wait_seconds: Type.Integer({
      minimum: 0,
      maximum: WAIT_MAX_SECONDS,
      default: MCP_DEFAULT_WAIT_SECONDS,
      description:
        'Seconds to wait while it is queued. The call returns as soon as it has ended; 0 returns immediately.',
    }),
  },
  { additionalProperties: false, required: ['uuid'] },
);

export const getGeneration = () =>
  defineTool({
    name: 'get_generation',
    title: 'Get a generation',
    description:
      'Returns the status of an image or video and waits for its end: the call returns as soon as it has succeeded or ' +
      'failed, or after wait_seconds (at most 45). Costs no credits. While the status is queued, call it again with ' +
      'wait_seconds 45 rather than often with 0. When it has succeeded, output_url is its permanent download URL; ' +
      'show or link that to the user. When it has failed, error_message says why, and the credits were refunded.',
    icon: 'generation',
    input: GetGenerationInput,
    output: withNextStep(getGenerationResponse()),
    spendsCredits: false,
    hasView: true,
    run: async ({ uuid, wait_seconds: seconds }, toolContext) => {
      // An invalid UUID returns the same error as an unknown one.
      if (!isUuid(uuid))
        throw new ServiceError('not_found', 'Not found. This account has no generation with that UUID.');
      const stopReporting = startProgressReports(seconds, toolContext);
      try {
        const wait = { seconds, isAborted: toolContext.isAborted };
        const generation = presentGeneration(await readGeneration(toolContext.principal, uuid.toLowerCase(), wait));
        return {
          text: describeGeneration(generation),
          structured: { ...generation, next: getNextStep(generation) },
          links: buildResourceLinks(generation),
        };
      } finally {
        stopReporting();
      }
    },
  });

/** Sends progress notifications while the call waits. @returns a function that stops them. */
function startProgressReports(seconds: number, { reportProgress }: ToolContext): () => void {
  if (reportProgress === null || seconds === 0) return () => {};
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const elapsedSeconds = Math.min(seconds, Math.round((performance.now() - startedAt) / 1_000));
    reportProgress(elapsedSeconds, seconds, `Still queued after ${elapsedSeconds} s.`);
  }, PROGRESS_INTERVAL_MS);
  reportProgress(0, seconds, 'Waiting for the generation to end.');
  return () => clearInterval(timer);
}

function getNextStep({ status }: PresentedGeneration): string {
  if (status === 'queued') return 'Call get_generation again with wait_seconds 45.';
  if (status === 'succeeded') return 'Show or link output_url to the user.';
  return 'Give the user the reason (error_message), and mention that the credits were refunded.';
}

function describeGeneration(generation: PresentedGeneration): string {
  const { kind, uuid, status, credits_charged, error_message, output_url, duration_ms, is_watermarked } = generation;
  if (status === 'failed') {
    return `The ${kind} ${uuid} failed: ${error_message} Its ${credits_charged} credits were refunded.`;
  }
  if (status === 'queued') {
    return `The ${kind} ${uuid} is still queued (${credits_charged} credits charged). Call get_generation again with wait_seconds 45.`;
  }
  const took = duration_ms === null ? '' : ` after ${(duration_ms / 1_000).toFixed(0)} s`;
  const watermark = is_watermarked ? ' It carries a watermark.' : '';
  return `The ${kind} ${uuid} succeeded${took}, for ${credits_charged} credits. Download it from ${output_url}${watermark}`;
}
