import { readGeneration } from '../../../shared/domain/generations/read.ts';
import { presentGeneration } from '../../../shared/presenters/generation.ts';
import { buildResourceLinks, type PresentedGeneration, type ToolResult } from './callToolResult.ts';
import type { ToolContext } from './defineTool.ts';

/** Interval of the progress notifications during a wait. */
const PROGRESS_INTERVAL_MS = 2_000;

/**
 * Reads a generation, and waits for its end with progress notifications.
 * @throws ServiceError not_found; invalid_api_key.
 */
export async function waitForGeneration(
  uuid: string,
  seconds: number,
  toolContext: ToolContext,
): Promise<PresentedGeneration> {
  const stopReporting = startProgressReports(seconds, toolContext);
  try {
    const wait = { seconds, isAborted: toolContext.isAborted };
    return presentGeneration(await readGeneration(toolContext.principal, uuid, wait));
  } finally {
    stopReporting();
  }
}

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

/** Describes a generation, suggests the next step, and links its files. */
export function buildGenerationResult(generation: PresentedGeneration): ToolResult {
  return {
    text: describeGeneration(generation),
    structured: { ...generation, next: getNextStep(generation) },
    links: buildResourceLinks(generation),
  };
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
  // The address is last, so that no punctuation becomes a part of it.
  return `The ${kind} ${uuid} succeeded${took}, for ${credits_charged} credits.${watermark} Download it from ${output_url}`;
}
