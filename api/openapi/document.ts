import { hasRight, MEMBER_ROLES } from '../../shared/spec/roles.ts';
import type { TObject, TSchema } from 'typebox';
import { toPublicSchema } from '../../shared/lib/validation/publicSchema.ts';
import type { ErrorCode } from '../../shared/spec/errors.ts';
import { VERSION } from '../../shared/spec/version.ts';
import { FEATURES, findEndpoint } from '../features/index.ts';
import { resolve } from '../lazy.ts';
import type { Endpoint, SuccessResponse } from '../pipeline/endpoint.ts';
import { type HttpRoute, toRoute } from '../pipeline/route.ts';
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
const toOpenApiPath = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}');

/**
 * Builds the OpenAPI 3.1 document of the REST interface from the endpoints among these routes.
 */
export function buildOpenApiDocument(routes: readonly HttpRoute[], baseUrl: string): Record<string, unknown> {
  const schemas = new SchemaRegistry();
  const responses: Record<string, unknown> = {};
  const headers = new Set<string>();
  const usedTags = new Set<string>();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const [method, path] = route;
    const { tag, endpoint } = findEndpoint(`${method} ${path}`) ?? {};
    if (tag === undefined || endpoint === undefined) continue;
    usedTags.add(tag);
    const entry = (paths[toOpenApiPath(path)] ??= {});
    entry[method.toLowerCase()] = buildOperationObject(route, tag, endpoint, { schemas, responses, headers });
  }
  return {
    openapi: '3.1.0',
    // There is no license text to link to, so the address is that of the service.
    info: { ...DOCUMENT_INFO, license: { name: 'Proprietary', url: baseUrl } },
    servers: [{ url: baseUrl }],
    tags: FEATURES.flatMap(({ tag }) => (tag !== undefined && usedTags.has(tag.name) ? [tag] : [])),
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
  tag: string,
  endpoint: Endpoint,
  components: ComponentsBuilder,
): Record<string, unknown> {
  const { path, credential, access } = toRoute(route);
  const { id, summary, description, query, headers = {}, idempotent, request, response, pendingResponse } = endpoint;
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string', format: 'uuid' },
    })),
    ...(query === undefined ? [] : buildQueryParameters(resolve(query) as TObject)),
    ...Object.entries(headers).map(([name, header]) => ({ ...buildParameter(name, 'header', header), required: true })),
    ...(idempotent === undefined ? [] : [IDEMPOTENCY_KEY_PARAMETER]),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description: resolve(description) }),
    security: listSecurityRequirements(credential, access),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(request === undefined ? {} : { requestBody: buildRequestBodyObject(endpoint, components) }),
    responses: {
      ...Object.fromEntries(
        [response, pendingResponse ?? response].map((lazy) => {
          const { status = 200, ...rest } = resolve(lazy);
          return [status, buildResponseObject(route, rest, idempotent !== undefined, components)];
        }),
      ),
      ...buildErrorResponseRefs(route, endpoint, components),
    },
  };
}

function buildQueryParameters({ properties }: TObject) {
  return Object.entries(properties).map(([name, schema]) => buildParameter(name, 'query', schema));
}

/** Builds a parameter. Keywords under `documented` take the place of those that validate. */
function buildParameter(name: string, place: 'query' | 'header', schema: TSchema) {
  const { description, documented, ...rest } = schema as TSchema & { description: string; documented?: object };
  const isObject = (rest as { type?: string }).type === 'object';
  return {
    name,
    in: place,
    // An object is written as `name[key]=value`.
    ...(isObject ? { style: 'deepObject', explode: true } : {}),
    description,
    schema: toPublicSchema({ ...rest, ...documented }),
  };
}

function buildRequestBodyObject(
  { request, example, examples, isRequestOptional }: Endpoint,
  { schemas }: ComponentsBuilder,
) {
  const named = examples === undefined ? { usual: resolve(example as object) } : resolve(examples);
  const schema = schemas.resolve(resolve(request as TSchema));
  return {
    required: isRequestOptional !== true,
    content: { 'application/json': { schema, examples: toExampleObjects(named) } },
  };
}

function buildResponseObject(
  [, , , , rateLimit]: HttpRoute,
  { description, schema, example, csvExample }: SuccessResponse,
  isIdempotent: boolean,
  { schemas, headers }: ComponentsBuilder,
) {
  const names = [
    'X-Request-Id',
    ...(rateLimit === 'unlimited' ? [] : ['RateLimit', 'RateLimit-Policy']),
    ...(isIdempotent ? ['Idempotent-Replayed'] : []),
  ];
  for (const name of names) headers.add(name);
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

/** Lists the error responses of a route by status: codes that follow from its row, and those of its endpoint. */
function buildErrorResponseRefs(
  route: HttpRoute,
  endpoint: Endpoint,
  { schemas, responses, headers }: ComponentsBuilder,
) {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of listErrorCodes(route, endpoint)) {
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

function listErrorCodes(route: HttpRoute, { errors = [] }: Endpoint): Set<ErrorCode> {
  const { path, credential, needs, permission, rateLimit, recentSignIn } = toRoute(route);
  const isForEveryRole = needs === undefined || MEMBER_ROLES.every((role) => hasRight(role, needs));
  return new Set<ErrorCode>([
    // Every route rejects malformed HTTP.
    'validation_error',
    ...(credential === 'anyone' ? [] : (['invalid_api_key'] as const)),
    ...(permission === undefined ? [] : (['admin_required'] as const)),
    // Keys that are restricted, or whose account is suspended, are rejected with codes of their own.
    ...(credential === 'account' ? (['account_suspended'] as const) : []),
    ...(credential === 'account' || recentSignIn !== undefined || !isForEveryRole
      ? (['insufficient_scope'] as const)
      : []),
    ...(path.includes(':') ? (['not_found'] as const) : []),
    ...(rateLimit === 'unlimited' ? [] : (['rate_limited'] as const)),
    ...errors,
    'internal_error',
  ]);
}

function toExampleObjects(values: object) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value: value as unknown }]));
}
