import type { ErrorCode } from '../../shared/spec/errors.ts';
import { VERSION } from '../../shared/spec/version.ts';
import { type Operation, TAGS } from './operation.ts';
import { OPERATIONS } from './operations/index.ts';
import { HEADERS, IDEMPOTENCY_KEY, SECURITY, SECURITY_SCHEMES } from './parts.ts';
import { referTo, refusal, statusesOf } from './refusals.ts';
import { Schemas } from './schemas.ts';

/** A row of the router's table, as far as it matters here. */
export type Row = readonly [method: string, path: string, credentials: string, rateClass: string, ...rest: unknown[]];

/** How the document writes an address. */
export const pathInDocument = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}');

/** Whether an address belongs to the REST interface: neither a page, nor a file, nor of another protocol. */
export function isDescribed([, path, credentials]: Row): boolean {
  if (!Object.hasOwn(SECURITY, credentials) || path.startsWith('/api/docs/')) return false;
  return path.startsWith('/api/') || path.startsWith('/authentication/');
}

/**
 * The REST interface as an OpenAPI 3.1 document: the router's table says which addresses there are, who may ask and
 * what is counted, `operations` what each is for, and the schemas that requests are checked against and answers are
 * made by what goes in and out.
 */
export function describeInterface(routes: readonly Row[], baseUrl: string): Record<string, unknown> {
  const schemas = new Schemas();
  const responses: Record<string, unknown> = {};
  const headers = new Set<string>();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.filter(isDescribed)) {
    const [method, path] = route;
    const operation = OPERATIONS[`${method} ${path}`];
    // Left out; the tests want it described.
    if (operation === undefined) continue;
    const entry = (paths[pathInDocument(path)] ??= {});
    entry[method.toLowerCase()] = describe(route, operation, { schemas, responses, headers });
  }
  return {
    openapi: '3.1.0',
    // There is no text of it to link to: who runs the service is the one to ask.
    info: { ...INFO, license: { name: 'Proprietary', url: baseUrl } },
    servers: [{ url: baseUrl }],
    tags: Object.entries(TAGS)
      .filter(([name]) => routes.some(([method, path]) => OPERATIONS[`${method} ${path}`]?.tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.named,
      responses,
      headers: Object.fromEntries(Object.entries(HEADERS).filter(([name]) => headers.has(name))),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const INFO = {
  title: 'genmeter',
  version: VERSION,
  summary: 'Videos and images from text prompts, metered in credits.',
  description:
    'JSON in and out. Times are ISO 8601 in UTC, money is integer cents. Every error is `{ error, detail }`: go by `error`. Addresses end in a slash; the one without works, too. New fields may be added to answers. AI assistants use the MCP server at `/mcp` instead.',
};

/** What is gathered on the way, for the components. */
interface Gathered {
  schemas: Schemas;
  responses: Record<string, unknown>;
  headers: Set<string>;
}

function describe(route: Row, operation: Operation, gathered: Gathered): Record<string, unknown> {
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
    ...(operation.isRepeatable === true ? [IDEMPOTENCY_KEY] : []),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: SECURITY[credentials],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: describeBody(body, gathered) }),
    responses: {
      [operation.answer.status]: describeAnswer(route, operation, gathered),
      ...refusals(route, operation, gathered),
    },
  };
}

function describeBody(body: NonNullable<Operation['body']>, { schemas }: Gathered) {
  const examples = body.examples ?? { usual: body.example };
  return {
    required: body.isOptional !== true,
    content: { 'application/json': { schema: schemas.at(body.schema), examples: asExamples(examples) } },
  };
}

function describeAnswer([, , , rateClass]: Row, { answer, isRepeatable }: Operation, { schemas, headers }: Gathered) {
  const names = [
    'X-Request-Id',
    ...(rateClass === 'unlimited' ? [] : ['RateLimit', 'RateLimit-Policy']),
    ...(isRepeatable === true ? ['Idempotent-Replayed'] : []),
  ];
  for (const name of names) headers.add(name);
  const { description, schema, example } = answer;
  const examples = example === undefined ? {} : { examples: asExamples({ usual: example }) };
  return {
    description,
    headers: referTo(names),
    ...(schema === undefined ? {} : { content: { 'application/json': { schema: schemas.at(schema), ...examples } } }),
  };
}

/** By status, every code that the address may refuse with: what follows from its row, and what it says of itself. */
function refusals(route: Row, operation: Operation, { schemas, responses, headers }: Gathered) {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(route, operation)) {
    for (const status of statusesOf(code, route[0] !== 'GET')) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const { name, response } = refusal(schemas, status, codes);
      responses[name] = response;
      for (const header of Object.keys(response.headers)) headers.add(header);
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}

function codesOf([, path, credentials, rateClass]: Row, operation: Operation): Set<ErrorCode> {
  return new Set<ErrorCode>([
    // What is no valid HTTP is refused everywhere.
    'validation_error',
    ...(credentials === 'none' ? [] : (['invalid_api_key'] as const)),
    ...(credentials === 'staff' ? (['admin_required'] as const) : []),
    ...(path.includes(':') ? (['not_found'] as const) : []),
    ...(rateClass === 'unlimited' ? [] : (['rate_limited'] as const)),
    ...(operation.refusals ?? []),
    'internal_error',
  ]);
}

function asExamples(values: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}
