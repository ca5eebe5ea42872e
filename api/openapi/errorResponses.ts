import { BODY_LIMIT_BYTES } from '../../shared/spec/limits.ts';
import { EXAMPLE_UUID } from './examples.ts';
import { getCatalog } from '../../shared/lib/catalog/catalog.ts';
import { getExampleRequest } from '../../shared/lib/catalog/exampleRequests.ts';
import { ERROR_STATUS, type ErrorCode } from '../../shared/spec/errors.ts';
import { errorResponseFor } from './errorSchemas.ts';
import type { SchemaRegistry } from './schemaRegistry.ts';

/** Description of each code. */
const ERROR_MEANINGS: Record<ErrorCode, string> = {
  validation_error: 'The request is invalid; `detail` names the field.',
  content_rejected: 'The content is not allowed; `detail` gives the reason. Only with content moderation.',
  invalid_api_key: 'The credential is missing, unknown, revoked, expired or malformed.',
  insufficient_credits: 'The balance does not cover the price, and no automatic top-up succeeded.',
  subscription_required: 'The account has no active subscription or, for automatic top-ups, no payment method.',
  spending_limit_reached: 'The credit limit of the API key or application does not cover the price.',
  admin_required: 'The account is not a staff account, or its role does not include this.',
  account_suspended: 'The account is suspended: contact support.',
  insufficient_scope:
    'The API key or access token is restricted to other scopes, models or addresses; `detail` names what is missing.',
  not_found: 'The resource does not exist or belongs to another account.',
  parallel_limit_reached: 'The account has as many generations in progress as its plan allows.',
  rate_limited: 'Too many requests: wait for `Retry-After` seconds.',
  model_unavailable: "The model's provider does not respond; nothing was charged.",
  internal_error: 'A fault of the service. With 503, a part of it is temporarily unavailable.',
};

const getErrorExamples = (): Record<ErrorCode, string> => ({
  validation_error: getInvalidParamExample(),
  content_rejected:
    'Depictions of this person are not allowed. This request was not charged. Change the prompt, then try again.',
  invalid_api_key: 'The API key is unknown or revoked.',
  insufficient_credits:
    'The balance does not cover the 35 credits of this generation. Top up, or wait for the next grant.',
  subscription_required: 'Creating generations requires an active subscription. Choose a plan, then try again.',
  spending_limit_reached:
    'The spending limit of this API key is 100 credits per day: 96 are used, and this generation costs 8. The limit resets at 2026-11-22T00:00:00.000Z. The owner of the account can change the limit at https://genmeter.example/account/keys/0198c7a2-0000-7000-8000-000000000000/ or with PATCH /api/keys/0198c7a2-0000-7000-8000-000000000000/ and a new credit_limit.',
  admin_required: 'Staff access is required. Sign in with a staff account.',
  account_suspended: 'The account is suspended. Contact support to have it reinstated.',
  insufficient_scope:
    'This request requires the scope svc:write, but this API key has only svc:read. Use another API key, or open https://genmeter.example/account/keys/ to change this one.',
  not_found: 'Not found. This account has no generation with that UUID.',
  parallel_limit_reached:
    'As many generations are in progress as the account may have at once. Wait until one has finished, then try again.',
  rate_limited: 'Too many requests: wait 12 s, then continue more slowly.',
  model_unavailable: `${getExampleRequest().model.slug} is currently unavailable. No credits were charged. Try again later.`,
  internal_error: 'The service is temporarily unavailable. Try again in a few seconds.',
});

/** Returns the statuses of a code. Some codes have more than the one in the specification's table. */
export function getErrorStatuses(code: ErrorCode, hasBody: boolean): number[] {
  if (code === 'internal_error') return [500, 503];
  if (code === 'validation_error' && hasBody) return [400, 413];
  return [ERROR_STATUS[code]];
}

/** Headers of each status, by their names in the components. */
const HEADERS_BY_STATUS: Record<number, readonly string[]> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Builds a named error response, such as `NotFound` or `InsufficientCreditsOrSubscriptionRequired`. */
export function buildErrorResponse(schemas: SchemaRegistry, status: number, codes: readonly ErrorCode[]) {
  const isUsual = codes.every((code) => ERROR_STATUS[code] === status);
  const name = `${codes.map(toPascalCase).join('Or')}${isUsual ? '' : status}`;
  const headers = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...(HEADERS_BY_STATUS[status] ?? [])];
  const response = {
    description: codes.map((code) => `\`${code}\`: ${ERROR_MEANINGS[code]}`).join(' '),
    headers: toHeaderRefs(headers),
    content: {
      'application/json': {
        schema: schemas.resolve(errorResponseFor(codes)),
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: { error: code, detail: getExampleDetail(code, status) } }]),
        ),
      },
    },
  };
  return { name, response };
}

/** Builds references to headers of the components. */
export function toHeaderRefs(names: readonly string[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function getExampleDetail(code: ErrorCode, status: number): string {
  if (status === 413) return `The body must have at most ${BODY_LIMIT_BYTES} bytes.`;
  if (status === 500) return `Something failed on our side. Quote ${EXAMPLE_UUID} to support.`;
  return getErrorExamples()[code];
}

function toPascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Builds the error of a parameter that has a list of values. */
function getInvalidParamExample(): string {
  const params = getCatalog().models.flatMap(({ hidden, definition }) =>
    hidden ? [] : Object.entries(definition.params),
  );
  const [name, param] = params.find(([, { enum: values }]) => values !== undefined) ?? [];
  return param?.enum === undefined
    ? 'params.size is not a known field.'
    : `params.${name} must be one of: ${param.enum.join(', ')}.`;
}
