import { isInternalKeyword } from './schemaValidator.ts';

type JsonSchema = Record<string, unknown>;

/**
 * Converts a schema to plain JSON Schema, without the keywords of the service's own validation. Enums get a type, which
 * code generators and some models need.
 * @param convertNested converts the values within the schema.
 */
export function toPublicSchema(
  schema: unknown,
  convertNested: (nested: unknown) => unknown = (nested) => toPublicSchema(nested),
): unknown {
  if (Array.isArray(schema)) return schema.map(convertNested);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema)
    .filter(([key, value]) => !isInternalKeyword(key, value))
    .map(([key, value]) => [key, convertNested(value)] as const);
  return withEnumType(Object.fromEntries(entries));
}

function withEnumType(schema: JsonSchema): JsonSchema {
  const values = schema['enum'];
  if (!Array.isArray(values) || schema['type'] !== undefined) return schema;
  if (typeof values[0] !== 'number') return { type: 'string', ...schema };
  return { type: values.every(Number.isInteger) ? 'integer' : 'number', ...schema };
}
