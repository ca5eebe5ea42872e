import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { ConfigError } from './config.ts';
import { describeExpected } from './validation/describeExpected.ts';

/**
 * Parses a variable that contains JSON.
 * @throws ConfigError that names the variable and the position of the error, and repeats nothing that may be a secret.
 */
export function parseConfigJson(variable: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The message of a parse error quotes its input.
    const place = / at position \d+.*/.exec((error as Error).message)?.[0] ?? '';
    throw new ConfigError(`${variable} is not valid JSON${place}.`);
  }
}

const ajv = new Ajv2020({ allErrors: true, verbose: true, validateSchema: false });

/**
 * Validates a part of the configuration. The schema is compiled on first use. Its descriptions say what a value, or a
 * name, must be, and the `title` of an object what it contains.
 * @param path place of the value, such as `CATALOG/models`.
 * @throws ConfigError with a sentence for each problem, which names its path and repeats no value: it may be a key.
 */
export function validateConfig<Schema extends TSchema>(path: string, value: unknown, schema: Schema): Static<Schema> {
  const validate = ajv.compile<Static<Schema>>(schema);
  if (validate(value)) return value;
  const messages = (validate.errors ?? []).flatMap((error) => describeError(path, error) ?? []);
  throw new ConfigError([...new Set(messages)].join(' '));
}

/** @returns undefined for an error that another one contains: that of a branch of a union, or of all names. */
function describeError(
  root: string,
  { instancePath, schemaPath, keyword, params, propertyName, parentSchema }: ErrorObject,
): string | undefined {
  const path = `${root}${instancePath.replaceAll('~1', '/')}`;
  const { additionalProperty, missingProperty, limit } = params as Record<string, unknown>;
  const fields = (parentSchema?.['properties'] ?? {}) as Record<string, object>;
  if (/\/anyOf\/\d/.test(schemaPath) || keyword === 'propertyNames') return undefined;
  if (propertyName !== undefined)
    return `${path}: the name "${propertyName.slice(0, 80)}" must be ${describeExpected(parentSchema)}.`;
  switch (keyword) {
    case 'additionalProperties':
      return `${path} has no field "${String(additionalProperty).slice(0, 60)}"; allowed fields are ${Object.keys(fields).join(', ')}.`;
    case 'required':
      return `${path}/${String(missingProperty)} must be ${describeExpected(fields[String(missingProperty)])}.`;
    case 'maxProperties':
      return `${path} must contain at most ${String(limit)} ${String(parentSchema?.['title'])}.`;
    case 'uniqueItems':
      return `${path} must not contain a value twice.`;
    default:
      return `${path} must be ${describeExpected(parentSchema)}.`;
  }
}
