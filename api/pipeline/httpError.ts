import { ERROR_STATUS, type ErrorCode, ServiceError } from '../../shared/spec/errors.ts';

/** Interval of the health checks: a model is not available again before the next one. */
const MODEL_RETRY_SECONDS = 10;

interface HttpErrorOptions {
  /** Default: the usual status of the code. */
  status?: number;
  headers?: Record<string, string>;
}

/** An error of the HTTP interface itself, with a status or headers that do not follow from its code. */
export class HttpError extends ServiceError {
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, detail: string, { status = ERROR_STATUS[code], headers = {} }: HttpErrorOptions) {
    super(code, detail);
    this.name = 'HttpError';
    this.status = status;
    this.headers = headers;
  }
}

/**
 * A rejection from which a client starts its authorization, or asks for more scopes. Nothing that can be guessed was
 * presented, so that the limit of the address does not replace it by a 429, which has no challenge. The 401 for a wrong
 * API key has a challenge too, but is deliberately not one of these: keys can be guessed.
 */
export class ChallengeError extends HttpError {
  constructor(code: ErrorCode, detail: string, challenge: string, status = ERROR_STATUS[code]) {
    super(code, detail, { status, headers: { 'www-authenticate': challenge } });
    this.name = 'ChallengeError';
  }
}

/** Returns the HTTP status of an error. An `internal_error` that names a time for a retry is a 503. */
export function getErrorStatus(error: ServiceError): number {
  if (error instanceof HttpError) return error.status;
  if (error.code === 'internal_error' && error.retryAfterSeconds !== undefined) return 503;
  return ERROR_STATUS[error.code];
}

/** Returns the headers that a client needs to act on an error. */
export function getErrorHeaders(error: ServiceError): Record<string, string> {
  if (error instanceof HttpError) return error.headers;
  const { code, retryAfterSeconds = code === 'model_unavailable' ? MODEL_RETRY_SECONDS : undefined } = error;
  return retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
}
