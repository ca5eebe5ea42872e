import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOpenApiDocument } from '../../api/openapi/document.ts';
import { HTTP_ROUTES, LOCAL_SIGN_IN_ROUTES } from '../../api/router.ts';
import { ROUTES_PATH } from './routeTable.ts';

/** Parsed JSON object. */
// oxlint-disable-next-line typescript/no-explicit-any -- its schema is that of OpenAPI, which has no types here
export type Json = Record<string, any>;

/** Path of the checked-in document, from the root of the repository. */
export const OPENAPI_PATH = 'docs/openapi.json';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const OPENAPI_FILE = join(ROOT, OPENAPI_PATH);
/** Path of the types of the client library, which are generated from the document. */
export const CLIENT_TYPES_PATH = 'packages/client/src/schema.ts';
export const CLIENT_TYPES_FILE = join(ROOT, CLIENT_TYPES_PATH);
/** Path of the types of the Python client, which are generated from it too. */
export const PYTHON_TYPES_PATH = 'packages/python/src/genmeter/types.py';
export const PYTHON_TYPES_FILE = join(ROOT, PYTHON_TYPES_PATH);

export const ROUTES_FILE = join(ROOT, ROUTES_PATH);

/** Path of the interface of the last release, with which the document must be compatible. */
export const RELEASED_PATH = 'dev/openapi/released.json';
export const RELEASED_FILE = join(ROOT, RELEASED_PATH);

/** Address in the checked-in document; a service puts its own BASE_URL there. */
const BASE_URL = 'http://localhost:3000';

/** Formats a document as the file stores it: one property per line, so that an interface change is a readable diff. */
export function formatOpenApiDocument(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

const TEXTS = ['description', 'summary', 'title', 'example', 'examples'];

/** Returns a document without its texts and examples, on which no client depends. */
export function removeTexts(document: Json): Json {
  return omitTexts(document, false) as Json;
}

/** @param isNamed true if the keys are names of properties, not words of OpenAPI. */
function omitTexts(value: unknown, isNamed: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => omitTexts(item, false));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => isNamed || !TEXTS.includes(key));
  return Object.fromEntries(kept.map(([key, one]) => [key, omitTexts(one, key === 'properties' && !isNamed)]));
}

/** Replaces the address of a service, so that documents of two services can be compared. */
export function withDefaultBaseUrl(document: Json): Json {
  const { info, servers, ...rest } = document;
  const withInfo = { ...info, license: { ...info.license, url: BASE_URL } };
  return { ...rest, info: withInfo, servers: servers.map(() => ({ url: BASE_URL })) };
}

/** Builds the document of a development service, which includes the local sign-in. */
export function buildCurrentDocument(): Json {
  return buildOpenApiDocument([...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES], BASE_URL);
}
