import { isInternalKeyword } from '../../../shared/lib/validation/schemaValidator.ts';
import { PaginationResponse } from '../pagination.ts';
import { FEATURES } from './features.ts';

/** Names in the document by schema: those of the features, and the one that all lists contain. */
const SCHEMA_NAMES = new Map<unknown, string>([
  [PaginationResponse, 'Pagination'],
  ...FEATURES.flatMap(({ schemas }) => Object.entries(schemas).map(([name, schema]) => [schema, name] as const)),
]);

type JsonSchema = Record<string, unknown>;

/** Converts schemas to plain JSON Schema. Named schemas are written once and referenced. */
export class SchemaRegistry {
  /** Referenced schemas, by name. */
  readonly schemasByName: Record<string, unknown> = {};

  /** Returns a schema for the place where it is used: a reference if it has a name. */
  resolve(schema: unknown): JsonSchema {
    const name = SCHEMA_NAMES.get(schema);
    if (name === undefined) return this.#clean(schema) as JsonSchema;
    if (!Object.hasOwn(this.schemasByName, name)) {
      // Reserved first, so that nested schemas can refer to it.
      this.schemasByName[name] = {};
      this.schemasByName[name] = this.#clean(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #clean(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.#within(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    const entries = Object.entries(schema)
      .filter(([key, value]) => !isInternalKeyword(key, value))
      .map(([key, value]) => [key, this.#within(value)] as const);
    return withEnumType(Object.fromEntries(entries));
  }

  #within(value: unknown): unknown {
    return SCHEMA_NAMES.has(value) ? this.resolve(value) : this.#clean(value);
  }
}

/** Adds the type to an enum, which code generators need. */
function withEnumType(schema: JsonSchema): JsonSchema {
  const values = schema['enum'];
  if (!Array.isArray(values) || schema['type'] !== undefined) return schema;
  return { type: typeof values[0] === 'number' ? 'integer' : 'string', ...schema };
}
