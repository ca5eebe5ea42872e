import { STATUS_CODES } from 'node:http';
import type { JsonResponse } from './protocol.ts';
import type { InputIssue } from './inputValidation.ts';
import type { Job } from './jobStore.ts';

/** An error about the request as such. */
export function replicateError(status: number, detail: string, headers?: Record<string, string>): JsonResponse {
  const title = status === 401 ? 'Unauthenticated' : STATUS_CODES[status];
  return { status, body: { title, detail, status }, headers };
}

/** 422: the model does not accept the input. */
export function replicateInputError(issues: InputIssue[]): JsonResponse {
  const body = {
    title: 'Input validation failed',
    detail: issues.map(({ field, msg }) => `- ${field}: ${msg}\n`).join(''),
    status: 422,
    invalid_fields: issues.map(({ field, type, msg }) => ({ type, field, description: msg })),
  };
  return { status: 422, body };
}

/** A prediction in Replicate's format. */
export function buildPrediction(job: Job, base: string): object {
  const { outcome, submittedAt, startedAt, completedAt } = job;
  const address = `${base}/v1/predictions/${job.id}`;
  return {
    id: job.id,
    model: job.model,
    version: 'hidden',
    input: job.input,
    logs: startedAt === null ? '' : `rendering ${job.renderRequest.kind}\n`,
    output: buildPredictionOutput(job, base),
    data_removed: false,
    error: outcome?.kind === 'failed' && outcome.reason !== 'cancelled' ? outcome.message : null,
    status: getPredictionStatus(job),
    created_at: formatTimestamp(submittedAt),
    started_at: formatTimestamp(startedAt),
    completed_at: formatTimestamp(completedAt),
    urls: { get: address, cancel: `${address}/cancel`, web: address },
    ...(completedAt !== null && {
      metrics: {
        predict_time: (completedAt - (startedAt ?? completedAt)) / 1000,
        total_time: (completedAt - submittedAt) / 1000,
      },
    }),
    // Replicate sends no such field; this upstream watermarks its output, and says so.
    ...(outcome?.kind === 'succeeded' && { watermarked: true }),
  };
}

/** Returns the address of a video, or a list of addresses for images. */
function buildPredictionOutput({ outcome, renderRequest }: Job, base: string): string | string[] | null {
  if (outcome?.kind !== 'succeeded') return null;
  const addresses = outcome.files.map(({ name }) => `${base}/files/${name}`);
  return renderRequest.kind === 'video' ? addresses[0]! : addresses;
}

function getPredictionStatus({ outcome, startedAt }: Job): string {
  if (outcome?.kind === 'succeeded') return 'succeeded';
  if (outcome) return outcome.reason === 'cancelled' ? 'canceled' : 'failed';
  return startedAt === null ? 'starting' : 'processing';
}

function formatTimestamp(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
