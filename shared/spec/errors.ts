/** Every machine code a client can meet, with the HTTP status it travels under (spec: Errors). */
export const ERROR_STATUS = {
  validation_error: 400,
  invalid_api_key: 401,
  insufficient_credits: 402,
  subscription_required: 402,
  admin_required: 403,
  not_found: 404,
  parallel_limit_reached: 409,
  rate_limited: 429,
  model_unavailable: 503,
  /** Ours, not the specification's: a fault on our side. 500, or 503 while a part of the service is out of reach. */
  internal_error: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** What a handler may override of an answer: its HTTP status, and headers that go with it. */
export interface ErrorExtras {
  status?: number;
  headers?: Record<string, string>;
}

/**
 * The one error that reaches clients: REST renders it as `{ error, detail }`.
 * `detail` is a sentence that says what is wrong and what to do; it may change, the code may not.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly extras: ErrorExtras;

  constructor(code: ErrorCode, detail: string, extras: ErrorExtras = {}) {
    super(detail);
    this.name = 'ServiceError';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return this.extras.status ?? ERROR_STATUS[this.code];
  }
}
