/** Every machine code that a client can receive, with its usual HTTP status (spec: Errors). */
export const ERROR_STATUS = {
  validation_error: 400,
  /** Not in the specification: the operator's moderation service denied the request. */
  content_rejected: 400,
  invalid_api_key: 401,
  insufficient_credits: 402,
  subscription_required: 402,
  /** Not in the specification: the credit limit of the API key or application does not cover the price. */
  spending_limit_reached: 402,
  admin_required: 403,
  /** Not in the specification: staff have suspended the account. */
  account_suspended: 403,
  /** Not in the specification: the API key is restricted to other scopes, models or addresses. */
  insufficient_scope: 403,
  not_found: 404,
  parallel_limit_reached: 409,
  rate_limited: 429,
  model_unavailable: 503,
  /** Not in the specification: a fault of the service. 500, or 503 while a part of the service is unavailable. */
  internal_error: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface ErrorOptions {
  /** Name of the request field that is wrong. The detail begins with it. */
  field?: string;
  /** Names of the fields that are allowed, if `field` is not one of them. */
  knownFields?: readonly string[];
  /** Time after which a retry can succeed. Makes an `internal_error` a temporary one. */
  retryAfterSeconds?: number;
  /** Path of the page where the owner of the account can resolve it. The detail names the page, too. */
  accountPath?: string;
}

/**
 * An error for clients. REST renders it as `{ error, detail }`, MCP as a tool result, pages as a message.
 * `detail` is a sentence that says what is wrong and what to do; it may change, the code may not.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly knownFields: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly accountPath: string | undefined;

  constructor(
    code: ErrorCode,
    detail: string,
    { field, knownFields, retryAfterSeconds, accountPath }: ErrorOptions = {},
  ) {
    super(detail);
    this.name = 'ServiceError';
    this.code = code;
    this.field = field;
    this.knownFields = knownFields;
    this.retryAfterSeconds = retryAfterSeconds;
    this.accountPath = accountPath;
  }

  /** True for a fault of the service: the same request may succeed later. False for a rejected request. */
  get isServiceFault(): boolean {
    return this.code === 'internal_error' || this.code === 'model_unavailable';
  }
}
