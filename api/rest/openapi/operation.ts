import type { TSchema } from 'typebox';
import type { ErrorCode } from '../../../shared/spec/errors.ts';

/** Under which heading an address is found. */
export const TAGS = {
  Generations: 'Videos and images: create one, wait for it, list them.',
  Models: 'What can be made, and whether it can be now.',
  'API keys': 'Personal keys, for programs.',
  Usage: 'Where the credits are, and where they went.',
  Billing: 'Plans, top-ups, and what the payment processor says.',
  Affiliate: 'Referrals and what they earn.',
  Staff: 'For the staff of the service.',
  Session: 'The person who is signed in. These take the session cookie only.',
  Service: 'The service itself.',
} as const;

export type OperationTag = keyof typeof TAGS;

/** A parameter of the query, or a header of the request. */
export interface OperationParameter {
  name: string;
  in: 'query' | 'header';
  description: string;
  schema: TSchema | Record<string, unknown>;
  required?: boolean;
}

/** What the router's table does not say of an address. All that follows from the table is added by `document.ts`. */
export interface Operation {
  /** What clients that are generated call it. */
  id: string;
  tag: OperationTag;
  summary: string;
  description?: string;
  parameters?: readonly OperationParameter[];
  /** The body of the request, as `schemas.ts` has it. */
  body?: { schema: TSchema; example?: unknown; examples?: Record<string, unknown>; isOptional?: boolean };
  /** The answer to a request that succeeds; without a schema it has no body. */
  response: {
    status: 200 | 201 | 204;
    description: string;
    schema?: TSchema;
    example?: unknown;
  };
  /** The codes that it refuses with, beyond those that follow from its credentials, its rate, its path and its body. */
  errorCodes?: readonly ErrorCode[];
  /** Whether it takes an `Idempotency-Key`. */
  acceptsIdempotencyKey?: boolean;
}

/** By method and path, as in the router's table. */
export type Operations = Readonly<Record<string, Operation>>;

/** The page of a list. */
export const PAGE_PARAMETER: OperationParameter = {
  name: 'page',
  in: 'query',
  description: 'Which page, 20 items each; past the last one `data` is empty.',
  schema: { type: 'integer', minimum: 1, default: 1 },
};
