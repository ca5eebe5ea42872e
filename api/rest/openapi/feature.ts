import type { TSchema } from 'typebox';
import type { ErrorCode } from '../../../shared/spec/errors.ts';
import { FILTERED_ITEMS_MAX, PAGE_SIZE } from '../../../shared/spec/limits.ts';

/** A query parameter or request header. */
export interface OperationParameter {
  name: string;
  in: 'query' | 'header';
  description: string;
  schema: TSchema | Record<string, unknown>;
  required?: boolean;
  /** An object is written as `name[key]=value`. */
  style?: 'deepObject';
  explode?: true;
}

/** Response to a successful request. Without a schema it has no body. */
interface SuccessResponse {
  status: 200 | 201 | 202 | 204;
  description: string;
  schema?: TSchema;
  example?: unknown;
  /** The same as CSV, for clients that accept `text/csv`: an example. */
  csvExample?: string;
}

/** Description of a route. `document.ts` adds everything that follows from the router's table. */
export interface Operation {
  /** Name of the method in generated clients. */
  id: string;
  summary: string;
  description?: string;
  parameters?: readonly OperationParameter[];
  /** Request body, with a schema of the `schemas.ts` of its folder. */
  body?: { schema: TSchema; example?: unknown; examples?: Record<string, unknown>; isOptional?: boolean };
  response: SuccessResponse;
  /** Response with another status, to a request whose outcome is not known yet. */
  pendingResponse?: SuccessResponse;
  /** Error codes beyond those that follow from credentials, rate limit, path and body. */
  errorCodes?: readonly ErrorCode[];
  /** True if the route accepts an `Idempotency-Key`. */
  acceptsIdempotencyKey?: boolean;
}

/** Description of a feature: the texts, examples and schemas of its routes. */
export interface FeatureDescription {
  /** Group of the operations in the document. */
  tag: { name: string; description: string };
  /** Schemas with a name in the document. All others are written where they are used. */
  schemas: Readonly<Record<string, TSchema>>;
  /** Operations by method and path, as in the router's table. */
  operations: Readonly<Record<string, Operation>>;
}

/** Page number of a list. */
export const PAGE_PARAMETER: OperationParameter = {
  name: 'page',
  in: 'query',
  description: `Page number; a page has ${PAGE_SIZE} items. After the last page \`data\` is empty.`,
  schema: { type: 'integer', minimum: 1, default: 1 },
};

const TIME_FORM = 'A date, which is its start in UTC, or an ISO 8601 time with its zone.';

/** Limits of the creation time, for filtered lists. */
export const CREATED_RANGE_PARAMETERS: readonly OperationParameter[] = [
  {
    name: 'created_after',
    in: 'query',
    description: `Only items created at this time or later. ${TIME_FORM}`,
    schema: { type: 'string' },
  },
  {
    name: 'created_before',
    in: 'query',
    description: `Only items created before this time. ${TIME_FORM}`,
    schema: { type: 'string' },
  },
];

/** Limit of a filtered list, for the description of its operation. */
export const FILTERED_LIST_NOTE = `With a filter, at most ${FILTERED_ITEMS_MAX} matches are counted and shown: a \`total_items\` of ${FILTERED_ITEMS_MAX + 1} means that there are more, and a page after those is a 400. Narrow the list by \`created_after\` and \`created_before\` to read them.`;
