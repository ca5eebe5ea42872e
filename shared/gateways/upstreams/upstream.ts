import type { GenerationParams, Kind } from '../../spec/catalog.ts';

/** What an upstream is asked to make. */
export interface UpstreamJob {
  /** Also the idempotency key, where the upstream takes one. */
  generationId: string;
  kind: Kind;
  prompt: string;
  params: GenerationParams;
}

/** How an upstream that accepted a job knows it; stored as JSON, read by the same adapter only. */
export type UpstreamHandle = Record<string, unknown>;

export type UpstreamProgress =
  | { state: 'running' }
  | { state: 'succeeded'; outputUrl: string; isWatermarked: boolean }
  /** `message` is shown to the customer. */
  | { state: 'failed'; message: string };

/** A model provider. Every adapter implements this, and throws nothing but `UpstreamError`. */
export interface Upstream {
  /** For the logs. */
  name: string;
  submit(job: UpstreamJob): Promise<UpstreamHandle>;
  check(handle: UpstreamHandle): Promise<UpstreamProgress>;
  /** Asks for a job to be stopped. That it came too late is not an error. */
  cancel(handle: UpstreamHandle): Promise<void>;
  /** Resolves when the upstream answers as one that could take a job. */
  probe(): Promise<void>;
}

/**
 * What went wrong, in the only terms that matter to what happens next:
 * - `refused`: it will never take this job (moderation, bad input). The message is shown to the customer.
 * - `unavailable`: it certainly did not take the job, or did not answer the question. Try again later.
 * - `unknown`: it may have taken the job: the reply was lost or cannot be read.
 * - `gone`: it does not know the job.
 */
export type UpstreamFault = 'refused' | 'unavailable' | 'unknown' | 'gone';

export class UpstreamError extends Error {
  readonly fault: UpstreamFault;
  /** Whether there was an answer at all; false is a fault of the transport. */
  readonly wasAnswered: boolean;

  constructor(fault: UpstreamFault, message: string, { wasAnswered = true } = {}) {
    super(message);
    this.name = 'UpstreamError';
    this.fault = fault;
    this.wasAnswered = wasAnswered;
  }
}
