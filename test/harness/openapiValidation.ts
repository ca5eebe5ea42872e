import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { buildOpenApiDocument } from '../../api/openapi/document.ts';
import { LOCAL_SIGN_IN_ROUTES, HTTP_ROUTES } from '../../api/router.ts';
import { type Config, config } from '../../shared/lib/config.ts';

/**
 * Validates every response that any test receives from the REST API against `/api/openapi.json`: its status, its body
 * without unknown fields, and its headers.
 */

interface ObservedResponse {
  status: number;
  headers: Headers;
  body: unknown;
}

type Json = Record<string, any>;

const cachedValidators = new Map<string | undefined, OpenApiValidator>();

/** Validator for the OpenAPI document of the code under test, with the catalog of the service in this process. */
export function getOpenApiValidator(): OpenApiValidator {
  // Undefined before a service was opened.
  const catalog = (config as Config | undefined)?.CATALOG;
  const cached = cachedValidators.get(catalog);
  if (cached !== undefined) return cached;
  const document = buildOpenApiDocument([...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES], 'http://127.0.0.1');
  const validator = new OpenApiValidator(JSON.parse(JSON.stringify(document)) as Json);
  cachedValidators.set(catalog, validator);
  return validator;
}

/** Fails unless a response matches the document. Ignores pages, files and other protocols. */
export function assertMatchesOpenApi(method: string, path: string, reply: ObservedResponse): void {
  const { pathname } = new URL(path, 'http://127.0.0.1');
  if (!/^\/(api|authentication)\//.test(pathname) || method === 'HEAD' || method === 'OPTIONS') return;
  const isJson = reply.headers.get('content-type')?.startsWith('application/json') === true;
  if (!isJson && reply.status !== 204) return;
  const problem = getOpenApiValidator().findProblem(method, pathname, reply);
  if (problem === undefined) return;
  const what = JSON.stringify(reply.body)?.slice(0, 1_000);
  throw new Error(`${method} ${pathname} answered ${reply.status} ${what}, but /api/openapi.json: ${problem}.`);
}

export class OpenApiValidator {
  readonly document: Json;
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #patterns: { path: string; pattern: RegExp; operations: Json }[];

  constructor(document: Json) {
    this.document = document;
    this.#patterns = Object.entries(document['paths'] as Record<string, Json>).map(([path, operations]) => ({
      path,
      pattern: toPathPattern(path),
      operations,
    }));
    // Each process compiles most schemas, and uses each a few times. The document is checked by a test of its own.
    this.#ajv = new Ajv2020({
      strict: false,
      allErrors: true,
      meta: false,
      validateSchema: false,
      code: { optimize: false },
    });
    const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
    this.#ajv.addFormat('date-time', DATE_TIME);
    this.#ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/);
    this.#ajv.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    this.#ajv.addFormat('uri', { validate: (text: string) => URL.canParse(text) });
    this.#ajv.addSchema(closeSchemas(document) as Json, 'description');
  }

  /** Finds the path in the document that serves a request; undefined if there is none. */
  findPath(method: string, pathname: string): string | undefined {
    const serving = this.#patterns
      .filter(({ pattern, operations }) => operations[method.toLowerCase()] !== undefined && pattern.test(pathname))
      .map(({ path }) => path);
    // Literal paths take precedence over parameters.
    return serving.sort((one, other) => one.split('{').length - other.split('{').length)[0];
  }

  /** Describes a mismatch; undefined if there is none. */
  findProblem(method: string, pathname: string, { status, headers, body }: ObservedResponse): string | undefined {
    const path = this.findPath(method, pathname);
    if (path === undefined) return status < 400 ? 'has no such address' : this.#problemOfBody(ANY_ERROR_POINTER, body);
    const at = `#/paths/${escapePointer(path)}/${method.toLowerCase()}/responses/${status}`;
    const { pointer, response } = this.#resolve(at);
    if (response === undefined) return `does not know this status`;
    for (const name of Object.keys(this.document['components'].headers as Json)) {
      if (headers.has(name) && response['headers']?.[name] === undefined) return `has no header ${name} there`;
    }
    for (const name of REQUIRED_HEADERS[status] ?? []) if (!headers.has(name)) return `is promised the header ${name}`;
    const hasSchema = response['content']?.['application/json'] !== undefined;
    if (!hasSchema) return body === undefined ? undefined : 'says that there is no body';
    return this.#problemOfBody(`${pointer}/content/application~1json/schema`, body);
  }

  #resolve(pointer: string): { pointer: string; response: Json | undefined } {
    const response = this.#find(pointer);
    const ref = response?.['$ref'] as string | undefined;
    return ref === undefined ? { pointer, response } : this.#resolve(ref);
  }

  #find(pointer: string): Json | undefined {
    const names = pointer.slice(2).split('/').map(unescapePointer);
    return names.reduce<Json | undefined>((at, name) => at?.[name], this.document);
  }

  #problemOfBody(pointer: string, body: unknown): string | undefined {
    let validate = this.#compiled.get(pointer);
    if (validate === undefined) {
      validate = this.#ajv.compile(pointer === ANY_ERROR_POINTER ? ENVELOPE : { $ref: `description${pointer}` });
      this.#compiled.set(pointer, validate);
    }
    if (validate(body)) return undefined;
    return `wants otherwise: ${this.#ajv.errorsText(validate.errors, { dataVar: 'the body' })}`;
  }
}

/** The response of an unknown path. */
const ANY_ERROR_POINTER = 'an error';
const ENVELOPE = {
  type: 'object',
  properties: { error: { type: 'string' }, detail: { type: 'string' } },
  required: ['error', 'detail'],
  additionalProperties: false,
};

const REQUIRED_HEADERS: Record<number, string[]> = { 401: ['WWW-Authenticate'], 429: ['Retry-After'] };

/** Closes every object schema that lists its fields: clients must accept new fields, tests must report them. */
function closeSchemas(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeSchemas);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Json = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closeSchemas(inner)]));
  const isObject = typeof copy['properties'] === 'object' && [copy['type']].flat().includes('object');
  return isObject ? { additionalProperties: false, ...copy } : copy;
}

function toPathPattern(path: string): RegExp {
  return new RegExp(
    `^${path
      .replace(/\/$/, '')
      .replaceAll('.', '\\.')
      .replaceAll(/\{\w+\}/g, '[^/]+')}/?$`,
  );
}

const escapePointer = (name: string) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
const unescapePointer = (name: string) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
