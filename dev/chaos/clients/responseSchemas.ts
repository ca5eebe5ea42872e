import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { buildUsageOutput } from '../../../api/mcp/tools/getUsage.ts';
import { buildLibraryOutput } from '../../../api/mcp/tools/listLibrary.ts';
import { ROOT } from '../../local/environment/build.ts';
import type { Json } from './httpClient.ts';

/** The documented responses of the REST API. */
const { paths, components }: Json = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8'));
const PATHS = Object.keys(paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const validators = new Map<object, ValidateFunction>();
const TOOL_SCHEMAS: Record<string, object> = {
  generation: components.schemas.Generation,
  library: buildLibraryOutput(),
  usage: buildUsageOutput(),
};

/** Describes a mismatch between the response to a request and its documentation; null if there is none. */
export function findResponseProblem(method: string, path: string, status: number, body: unknown): string | null {
  const route = paths[path] ?? paths[PATHS.find(({ pattern }) => pattern.test(path))?.path ?? ''];
  const documented = route?.[method.toLowerCase()]?.responses[status];
  if (documented === undefined) return 'the status is not documented';
  const schema = documented.content?.['application/json'].schema;
  if (schema === undefined) return body === undefined ? null : 'the body is not empty';
  return findMismatch(schema, body);
}

/** Describes a mismatch with the output of tools, or with the data of webhooks about generations. */
export function findOutputProblem(schema: 'generation' | 'library' | 'usage', output: unknown): string | null {
  return findMismatch(TOOL_SCHEMAS[schema] as object, output);
}

function findMismatch(schema: object, value: unknown): string | null {
  const validate = validators.get(schema) ?? ajv.compile({ ...schema, components });
  validators.set(schema, validate);
  return validate(value) ? null : ajv.errorsText(validate.errors);
}
