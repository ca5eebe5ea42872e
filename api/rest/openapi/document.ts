import type { ErrorCode } from '../../../shared/spec/errors.ts';
import { VERSION } from '../../../shared/spec/version.ts';
import { type HttpRoute, toRoute } from '../../pipeline/route.ts';
import type { Operation } from './feature.ts';
import { findOperation, getFeatures, type TaggedOperation } from './features.ts';
import {
  RESPONSE_HEADERS,
  IDEMPOTENCY_KEY_PARAMETER,
  SECURITY_SCHEMES,
  listSecurityRequirements,
} from './components.ts';
import { toHeaderRefs, buildErrorResponse, getErrorStatuses } from './errorResponses.ts';
import { SchemaRegistry } from './schemaRegistry.ts';
import { buildWebhooksObject } from './webhooks.ts';

/** Converts a path of the router to the syntax of OpenAPI. */
export const toOpenApiPath = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}');

/** Returns true if a route belongs to the REST interface. Pages, files and other protocols do not. */
function isDocumented([, path, surface]: HttpRoute): boolean {
  if (path.startsWith('/api/docs/')) return false;
  return surface === 'rest' || (surface === 'json' && path.startsWith('/authentication/'));
}

/**
 * Builds the OpenAPI 3.1 document of the REST interface. Paths, credentials and rate limits come from the router's table,
 * descriptions from the features, and bodies from the schemas that validate requests and type responses.
 */
export function buildOpenApiDocument(routes: readonly HttpRoute[], baseUrl: string): Record<string, unknown> {
  const schemas = new SchemaRegistry();
  const responses: Record<string, unknown> = {};
  const headers = new Set<string>();
  const usedTags = new Set<string>();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.filter(isDocumented)) {
    const [method, path] = route;
    const operation = findOperation(method, path);
    // Omitted here; a test requires a description of every route.
    if (operation === undefined) continue;
    usedTags.add(operation.tag);
    const entry = (paths[toOpenApiPath(path)] ??= {});
    entry[method.toLowerCase()] = buildOperationObject(route, operation, { schemas, responses, headers });
  }
  return {
    openapi: '3.1.0',
    // There is no license text to link to, so the address is that of the service.
    info: { ...DOCUMENT_INFO, license: { name: 'Proprietary', url: baseUrl } },
    servers: [{ url: baseUrl }],
    tags: [...new Set(getFeatures().map(({ tag }) => tag))].filter(({ name }) => usedTags.has(name)),
    paths,
    webhooks: buildWebhooksObject(schemas),
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
    'JSON in and out. Times are ISO 8601 in UTC, money is integer cents. Every error is `{ error, detail }`: branch on `error`. Paths end in a slash and also work without it. New fields may be added to responses. AI assistants use the MCP server at `/mcp` instead.',
};

/** Components collected while operations are built. */
interface ComponentsBuilder {
  schemas: SchemaRegistry;
  responses: Record<string, unknown>;
  headers: Set<string>;
}

function buildOperationObject(
  route: HttpRoute,
  operation: TaggedOperation,
  components: ComponentsBuilder,
): Record<string, unknown> {
  const { path, credential, access } = toRoute(route);
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
    security: listSecurityRequirements(credential, access),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: buildRequestBodyObject(body, components) }),
    responses: {
      ...Object.fromEntries(
        [operation.response, operation.pendingResponse ?? operation.response].map((response) => [
          response.status,
          buildResponseObject(route, { ...operation, response }, components),
        ]),
      ),
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
  [, , , , rateLimit]: HttpRoute,
  { response, acceptsIdempotencyKey }: Operation,
  { schemas, headers }: ComponentsBuilder,
) {
  const names = [
    'X-Request-Id',
    ...(rateLimit === 'unlimited' ? [] : ['RateLimit', 'RateLimit-Policy']),
    ...(acceptsIdempotencyKey === true ? ['Idempotent-Replayed'] : []),
  ];
  for (const name of names) headers.add(name);
  const { description, schema, example, csvExample } = response;
  const examples = example === undefined ? {} : { examples: toExampleObjects({ usual: example }) };
  const content = {
    ...(schema === undefined ? {} : { 'application/json': { schema: schemas.resolve(schema), ...examples } }),
    ...(csvExample === undefined
      ? {}
      : { 'text/csv': { schema: { type: 'string' }, examples: toExampleObjects({ usual: csvExample }) } }),
  };
  return {
    description,
    headers: toHeaderRefs(names),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

/** Lists the error responses of a route by status: codes that follow from its row, and those of its operation. */
function buildErrorResponseRefs(
  route: HttpRoute,
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

function listErrorCodes(route: HttpRoute, operation: Operation): Set<ErrorCode> {
  const { path, credential, permission, rateLimit } = toRoute(route);
  return new Set<ErrorCode>([
    // Every route rejects malformed HTTP.
    'validation_error',
    ...(credential === 'anyone' ? [] : (['invalid_api_key'] as const)),
    ...(permission === undefined ? [] : (['admin_required'] as const)),
    // Keys that are restricted, or whose account is suspended, are rejected with codes of their own.
    ...(credential === 'account' ? (['account_suspended', 'insufficient_scope'] as const) : []),
    ...(path.includes(':') ? (['not_found'] as const) : []),
    ...(rateLimit === 'unlimited' ? [] : (['rate_limited'] as const)),
    ...(operation.errorCodes ?? []),
    'internal_error',
  ]);
}

function toExampleObjects(values: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}
