import type { components } from './schema.ts';

type ErrorResponses = components['responses'];

/** Codes of the service, in the field `error` of its responses. */
export type ServiceErrorCode = {
  [Name in keyof ErrorResponses]: ErrorResponses[Name]['content']['application/json']['error'];
}[keyof ErrorResponses];

/**
 * A code of the service, or one of the client: `network_error` (no response, or one that broke off), `timeout`, and
 * `unexpected_response` (a response that is not one of the service, such as the error page of a proxy).
 */
export type ErrorCode = ServiceErrorCode | 'network_error' | 'timeout' | 'unexpected_response';

export interface GenmeterErrorFields {
  error: ErrorCode;
  detail: string;
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** A request failed. Match on `error`; `detail` is a sentence for people and may change. */
export class GenmeterError extends Error {
  override readonly name = 'GenmeterError';
  readonly error: ErrorCode;
  readonly detail: string;
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** `X-Request-Id` of the response, to quote to support. */
  readonly requestId: string | undefined;
  /** Time that the service asked to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor({ error, detail, status, requestId, retryAfterMs, cause }: GenmeterErrorFields) {
    super(detail, cause === undefined ? undefined : { cause });
    this.error = error;
    this.detail = detail;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}
