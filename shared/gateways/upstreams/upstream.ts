import type { ModelKind } from '../../spec/catalog.ts';

/** What an upstream is asked to make. */
export interface SubmitRequest {
  /** Also the idempotency key, where the upstream takes one. */
  generationId: string;
  /** As the upstream's model wants it. */
  input: Record<string, unknown>;
  /** When its result is of no use to anybody any more. */
  deadlineAt: Date;
  /** The name of a new local file, for an upstream that answers with the output itself. */
  newFile(): Promise<string>;
}

/** How an upstream that accepted a job knows it; stored as JSON, read by the same adapter only. */
export type UpstreamHandle = Record<string, unknown>;

/** Where an output is to be had: at an address, perhaps with headers for its own host alone; or here already. */
export type UpstreamOutput = { url: string; headers?: Record<string, string> } | { file: string };

export type UpstreamResult =
  | { state: 'succeeded'; output: UpstreamOutput; isWatermarked: boolean }
  /** `message` is shown to the customer. */
  | { state: 'failed'; message: string };

export type UpstreamProgress = { state: 'running' } | UpstreamResult;

/** An upstream that answers at once has ended the job with its answer; any other has only accepted it. */
export type SubmitResult = { state: 'accepted'; handle: UpstreamHandle } | UpstreamResult;

/** One model at a provider. Every adapter implements this, and throws nothing but `UpstreamError`. */
export interface Upstream {
  kind: ModelKind;
  /** Whether `submit` lasts until the output is there: minutes, not a moment. */
  isSynchronous: boolean;
  submit(job: SubmitRequest): Promise<SubmitResult>;
  /** Never called where submissions are synchronous. */
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
  /** How long the upstream asked to be left alone. */
  readonly retryAfterMs: number;
  /** Whether our account there is what is wrong: then nothing can be made there for the time. */
  readonly isAccountError: boolean;

  constructor(
    fault: UpstreamFault,
    message: string,
    { wasAnswered = true, retryAfterMs = 0, isAccountError = false } = {},
  ) {
    super(message);
    this.name = 'UpstreamError';
    this.fault = fault;
    this.wasAnswered = wasAnswered;
    this.retryAfterMs = retryAfterMs;
    this.isAccountError = isAccountError;
  }
}
