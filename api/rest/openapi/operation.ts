import type { TSchema } from 'typebox';
import type { ErrorCode } from '../../../shared/spec/errors.ts';

/** Tags that group the operations. */
export const TAGS = {
  Generations: 'Videos and images: create one, wait for it, list them.',
  Models: 'The available models and their status.',
  'API keys': 'Personal keys, for programs.',
  Usage: 'Credit balance, usage history and ledger.',
  Billing: 'Plans, subscriptions, top-ups and payment events.',
  Affiliate: 'Referrals and commissions.',
  Staff: 'For the staff of the service.',
  Session: 'The signed-in user. Requires the session cookie.',
  Service: 'The service itself.',
} as const;

export type OperationTag = keyof typeof TAGS;

/** A query parameter or request header. */
export interface OperationParameter {
  name: string;
  in: 'query' | 'header';
  description: string;
  schema: TSchema | Record<string, unknown>;
  required?: boolean;
}

/** Description of a route. `document.ts` adds everything that follows from the router's table. */
export interface Operation {
  /** Name of the method in generated clients. */
  id: string;
  tag: OperationTag;
  summary: string;
  description?: string;
  parameters?: readonly OperationParameter[];
  /** Request body, with a schema of the `schemas.ts` of its folder. */
  body?: { schema: TSchema; example?: unknown; examples?: Record<string, unknown>; isOptional?: boolean };
  /** Response to a successful request. Without a schema it has no body. */
  response: {
    status: 200 | 201 | 204;
    description: string;
    schema?: TSchema;
    example?: unknown;
  };
  /** Error codes beyond those that follow from credentials, rate limit, path and body. */
  errorCodes?: readonly ErrorCode[];
  /** True if the route accepts an `Idempotency-Key`. */
  acceptsIdempotencyKey?: boolean;
}

/** Operations by method and path, as in the router's table. */
export type Operations = Readonly<Record<string, Operation>>;

/** Page number of a list. */
export const PAGE_PARAMETER: OperationParameter = {
  name: 'page',
  in: 'query',
  description: 'Page number; a page has 20 items. After the last page `data` is empty.',
  schema: { type: 'integer', minimum: 1, default: 1 },
};
