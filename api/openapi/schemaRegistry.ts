import { perService } from '../../shared/lib/serviceScope.ts';
import { toPublicSchema } from '../../shared/lib/validation/publicSchema.ts';
import { FEATURES } from '../features/index.ts';
import { resolve } from '../lazy.ts';
import { PaginationResponse } from '../pipeline/lists.ts';

/** Names in the document by schema: those of the features, and the one that all lists contain. */
const getSchemaNames = perService(
  () =>
    new Map<unknown, string>([
      [PaginationResponse, 'Pagination'],
      ...FEATURES.flatMap(({ schemas = {} }) =>
        Object.entries(resolve(schemas)).map(([name, schema]) => [schema, name] as const),
      ),
    ]),
);

type JsonSchema = Record<string, unknown>;

/** Converts schemas to plain JSON Schema. Named schemas are written once and referenced. */
export class SchemaRegistry {
  /** Referenced schemas, by name. */
  readonly schemasByName: Record<string, unknown> = {};

  /** Returns a schema for the place where it is used: a reference if it has a name. */
  resolve(schema: unknown): JsonSchema {
    const name = getSchemaNames().get(schema);
    if (name === undefined) return this.#convert(schema) as JsonSchema;
    if (!Object.hasOwn(this.schemasByName, name)) {
      // Reserved first, so that nested schemas can refer to it.
      this.schemasByName[name] = {};
      this.schemasByName[name] = this.#convert(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #convert(schema: unknown): unknown {
    return toPublicSchema(schema, (nested) =>
      getSchemaNames().has(nested) ? this.resolve(nested) : this.#convert(nested),
    );
  }
}
