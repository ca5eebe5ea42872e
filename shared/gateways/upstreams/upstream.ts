import type { InputRole, ModelKind } from '../../spec/catalog.ts';

/** A generation to submit. */
export interface SubmitRequest {
  /**
   * UUID of the generation, or of its run after a fail-over. Also the idempotency key, if the upstream supports one.
   */
  generationId: string;
  /** Input in the format of the upstream's model. */
  input: Record<string, unknown>;
  /** Images of the input, for an upstream that takes files and not addresses. */
  images?: readonly SubmitImage[];
  /** Time after which the result is no longer used. */
  deadlineAt: Date;
  /** Address that the upstream shall call once the run has ended. Absent: none. */
  callbackUrl?: string;
  /** Returns the path of a new local file, for an upstream that responds with the output itself. */
  newFile(): Promise<string>;
}

/** An image of the input. */
export interface SubmitImage {
  /** Its address, as the input contains it. */
  url: string;
  contentType: string;
  role?: InputRole;
  bytes: number;
  /** Opens its content in our storage. */
  read(): Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>;
}

/** Identifies a generation at the upstream that accepted it. Stored as JSON, read by the same adapter only. */
export type UpstreamHandle = Record<string, unknown>;

/** Location of an output: an address, or a local file. */
export type UpstreamOutput = { url: string } | { file: string };

/** Files that a run has made, in the order of the upstream. */
export type UpstreamOutputs = readonly [UpstreamOutput, ...UpstreamOutput[]];

export type UpstreamResult =
  | {
      state: 'succeeded';
      outputs: UpstreamOutputs;
      /** Number of further files that a safety filter of the provider replaced. Absent: none. */
      filtered?: number;
      isWatermarked: boolean;
      /** Price of the run, if the provider reports it. */
      costCents?: number;
      /** Time from now on for which the addresses of the outputs are valid. Absent: not known. */
      expiresInMs?: number;
    }
  /** `message` is shown to the customer. */
  | { state: 'failed'; message: string };

/**
 * `isWaiting` is true if it has not started yet, and can be cancelled with a confirmation. `progress` is what the
 * provider says about it, for operators.
 */
export type UpstreamProgress = { state: 'running'; isWaiting?: true; progress?: string } | UpstreamResult;

/**
 * `did_not_run` only if the provider's documentation says so: the customer is refunded, and nothing may be charged to
 * us.
 */
export type CancelResult = 'did_not_run' | 'unknown';

/** A synchronous upstream responds with the result; any other responds with a handle. */
export type SubmitResult = { state: 'accepted'; handle: UpstreamHandle } | UpstreamResult;

export interface PollOptions {
  /**
   * The run may have ended: an upstream that has a separate address for the result asks there first. The response may
   * then lack `isWaiting`.
   */
  mayHaveEnded: boolean;
}

/** One model of a provider. Every adapter implements this, and throws only `UpstreamError`. */
export interface Upstream {
  kind: ModelKind;
  /** True if `submit` lasts until the output is complete, which takes minutes. */
  isSynchronous: boolean;
  submit(request: SubmitRequest): Promise<SubmitResult>;
  /** Reads the progress of a generation. Never called if submits are synchronous. */
  poll(handle: UpstreamHandle, options?: PollOptions): Promise<UpstreamProgress>;
  /** Requests the cancellation of a generation. It is not an error if that comes too late. */
  cancel(handle: UpstreamHandle): Promise<CancelResult>;
  /** Returns the headers that an address of an output needs: our key, for the origin of the upstream only. */
  getFileHeaders(url: string): Record<string, string> | undefined;
  /** Resolves if the upstream responds as one that can accept submits. */
  probe(): Promise<void>;
}

/**
 * Classes of failures, by what the caller does next:
 * - `rejected`: the upstream rejects this generation for good (moderation, invalid input). The message is shown to the
 *   customer.
 * - `unavailable`: it certainly did not accept the submit, or did not respond to the query. Retry later.
 * - `unknown`: it may have accepted the submit: the response was lost or cannot be read.
 * - `gone`: it does not have this generation.
 */
export type UpstreamFault = 'rejected' | 'unavailable' | 'unknown' | 'gone';

export class UpstreamError extends Error {
  readonly fault: UpstreamFault;
  /** False for a transport error: no response arrived. */
  readonly hasResponse: boolean;
  /** Delay that the upstream requested with Retry-After; 0 without one. */
  readonly retryAfterMs: number;
  /** True for an error of our account at the upstream, which affects all generations. */
  readonly isAccountError: boolean;

  constructor(
    fault: UpstreamFault,
    message: string,
    { hasResponse = true, retryAfterMs = 0, isAccountError = false } = {},
  ) {
    super(message);
    this.name = 'UpstreamError';
    this.fault = fault;
    this.hasResponse = hasResponse;
    this.retryAfterMs = retryAfterMs;
    this.isAccountError = isAccountError;
  }
}
