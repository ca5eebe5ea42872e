import type { ErrorCode } from '../../../shared/spec/errors.ts';
import { VERSION } from '../../../shared/spec/version.ts';
import { type Operation, TAGS } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import {
  RESPONSE_HEADERS,
  IDEMPOTENCY_KEY_PARAMETER,
  SECURITY_BY_CREDENTIALS,
  SECURITY_SCHEMES,
} from './components.ts';
import { toHeaderRefs, buildErrorResponse, getErrorStatuses } from './errorResponses.ts';
import { SchemaRegistry } from './schemaRegistry.ts';

/** A row of the router's table, as far as it matters here. */
export type RouteRow = readonly [
  method: string,
  path: string,
  credentials: string,
  rateClass: string,
  ...rest: unknown[],
];

/** How the document writes an address. */
export const toOpenApiPath = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}');

/** Whether an address belongs to the REST interface: neither a page, nor a file, nor of another protocol. */
export function isDocumented([, path, credentials]: RouteRow): boolean {
  if (!Object.hasOwn(SECURITY_BY_CREDENTIALS, credentials) || path.startsWith('/api/docs/')) return false;
  return path.startsWith('/api/') || path.startsWith('/authentication/');
}

/**
 * The REST interface as an OpenAPI 3.1 document: the router's table says which addresses there are, who may ask and
 * what is counted, `operations` what each is for, and the schemas that requests are checked against and answers are
 * made by what goes in and out.
 */
export function buildOpenApiDocument(routes: readonly RouteRow[], baseUrl: string): Record<string, unknown> {
  const schemas = new SchemaRegistry();
  const responses: Record<string, unknown> = {};
  const headers = new Set<string>();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.filter(isDocumented)) {
    const [method, path] = route;
    const operation = OPERATIONS[`${method} ${path}`];
    // Left out; the tests want it described.
    if (operation === undefined) continue;
    const entry = (paths[toOpenApiPath(path)] ??= {});
    entry[method.toLowerCase()] = buildOperationObject(route, operation, { schemas, responses, headers });
  }
  return {
    openapi: '3.1.0',
    // There is no text of it to link to: who runs the service is the one to ask.
    info: { ...DOCUMENT_INFO, license: { name: 'Proprietary', url: baseUrl } },
    servers: [{ url: baseUrl }],
    tags: Object.entries(TAGS)
      .filter(([name]) => routes.some(([method, path]) => OPERATIONS[`${method} ${path}`]?.tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.schemasByName,
      responses,
      headers: Object.fromEntries(Object.entries(RESPONSE_HEADERS).filter(([name]) => headers.has(name))),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const DOCUMENT_INFO = {
  title: 'genmeter',
  version: VERSION,
  summary: 'Videos and images from text prompts, metered in credits.',
  description:
    'JSON in and out. Times are ISO 8601 in UTC, money is integer cents. Every error is `{ error, detail }`: go by `error`. Addresses end in a slash; the one without works, too. New fields may be added to answers. AI assistants use the MCP server at `/mcp` instead.',
};

/** What is gathered on the way, for the components. */
interface ComponentsBuilder {
  schemas: SchemaRegistry;
  responses: Record<string, unknown>;
  headers: Set<string>;
}

function buildOperationObject(
  route: RouteRow,
  operation: Operation,
  components: ComponentsBuilder,
): Record<string, unknown> {
  const [, path, credentials] = route;
  const { id, tag, summary, description, body } = operation;
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string', format: 'uuid' },
    })),
    ...(operation.parameters ?? []),
    ...(operation.acceptsIdempotencyKey === true ? [IDEMPOTENCY_KEY_PARAMETER] : []),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: SECURITY_BY_CREDENTIALS[credentials],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: buildRequestBodyObject(body, components) }),
    responses: {
      [operation.response.status]: buildResponseObject(route, operation, components),
      ...buildErrorResponseRefs(route, operation, components),
    },
  };
}

function buildRequestBodyObject(body: NonNullable<Operation['body']>, { schemas }: ComponentsBuilder) {
  const examples = body.examples ?? { usual: body.example };
  return {
    required: body.isOptional !== true,
    content: { 'application/json': { schema: schemas.resolve(body.schema), examples: toExampleObjects(examples) } },
  };
}

function buildResponseObject(
  [, , , rateClass]: RouteRow,
  { response, acceptsIdempotencyKey }: Operation,
  { schemas, headers }: ComponentsBuilder,
) {
  const names = [
    'X-Request-Id',
    ...(rateClass === 'unlimited' ? [] : ['RateLimit', 'RateLimit-Policy']),
    ...(acceptsIdempotencyKey === true ? ['Idempotent-Replayed'] : []),
  ];
  for (const name of names) headers.add(name);
  const { description, schema, example } = response;
  const examples = example === undefined ? {} : { examples: toExampleObjects({ usual: example }) };
  return {
    description,
    headers: toHeaderRefs(names),
    ...(schema === undefined
      ? {}
      : { content: { 'application/json': { schema: schemas.resolve(schema), ...examples } } }),
  };
}

/** By status, every code that the address may refuse with: what follows from its row, and what it says of itself. */
function buildErrorResponseRefs(
  route: RouteRow,
  operation: Operation,
  { schemas, responses, headers }: ComponentsBuilder,
) {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of listErrorCodes(route, operation)) {
    for (const status of getErrorStatuses(code, route[0] !== 'GET')) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const { name, response } = buildErrorResponse(schemas, status, codes);
      responses[name] = response;
      for (const header of Object.keys(response.headers)) headers.add(header);
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}

function listErrorCodes([, path, credentials, rateClass]: RouteRow, operation: Operation): Set<ErrorCode> {
  return new Set<ErrorCode>([
    // What is no valid HTTP is refused everywhere.
    'validation_error',
    ...(credentials === 'none' ? [] : (['invalid_api_key'] as const)),
    ...(credentials === 'staff' ? (['admin_required'] as const) : []),
    ...(path.includes(':') ? (['not_found'] as const) : []),
    ...(rateClass === 'unlimited' ? [] : (['rate_limited'] as const)),
    ...(operation.errorCodes ?? []),
    'internal_error',
  ]);
}

function toExampleObjects(values: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}
