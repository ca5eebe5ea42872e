import { setTimeout } from 'node:timers/promises';
import { InvalidOutputError } from '../../../gateways/media/download.ts';
import { now } from '../../../lib/clock.ts';
import { isOutage } from '../../../lib/database/errors.ts';
import { mayRetry } from '../../../lib/drain.ts';
import { logger } from '../../../lib/logger.ts';
import type { ClaimedGeneration } from './step.ts';

const OUTAGE_RETRY_DELAY_MS = 1_000;
/** Delay after an output could not be stored. */
export const STORE_RETRY_DELAY_MS = 3_000;

interface RetryOptions {
  delayMs: number;
  isRetryable: (error: unknown) => boolean;
  onRetry?: (error: unknown) => void;
}

/** Repeats work until it succeeds, fails for good, the generation's deadline passes, or the process has to stop. */
async function retryUntilDeadline<Result>(
  generation: ClaimedGeneration,
  { delayMs, isRetryable, onRetry }: RetryOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) || now() >= generation.deadline_at || !mayRetry()) throw error;
      onRetry?.(error);
      await setTimeout(delayMs);
    }
  }
}

/** Retries a write while the database is unavailable: a lost result would be generated, and paid for, again. */
export function retryDuringOutage<Result>(
  generation: ClaimedGeneration,
  write: () => Promise<Result>,
): Promise<Result> {
  return retryUntilDeadline(generation, { delayMs: OUTAGE_RETRY_DELAY_MS, isRetryable: isOutage }, write);
}

/** Decides how often a step of `finalizeGeneration` is attempted. */
export type RetryPolicy = <Result>(work: () => Promise<Result>) => Promise<Result>;

export const tryOnce: RetryPolicy = (work) => work();

/** Returns a policy for outputs that the upstream delivers only once: retries every error except an invalid output. */
export function retryUntilStored(generation: ClaimedGeneration): RetryPolicy {
  const options: RetryOptions = {
    delayMs: STORE_RETRY_DELAY_MS,
    isRetryable: (error) => !(error instanceof InvalidOutputError),
    onRetry: (err) => logger.warn({ err, generationId: generation.uuid }, 'output not stored; will retry'),
  };
  return (work) => retryUntilDeadline(generation, options, work);
}
