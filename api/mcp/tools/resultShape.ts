import { toPublicSchema } from '../../../shared/lib/validation/publicSchema.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Parameters depend on the model. Their constraints would be half of the list of tools. */
const OPEN_FIELDS: ReadonlySet<string> = new Set(['params', 'metadata']);

/**
 * Reduces the schema of a result to the names and types of its fields. Clients load it with every list of tools, and
 * one that validates results with a cached list must accept values that are new, such as a model.
 */
export function toShape(schema: unknown): JsonSchema {
  const { type, required, properties, additionalProperties, items, anyOf } = toPublicSchema(schema) as {
    type?: unknown;
    required?: unknown;
    properties?: JsonSchema;
    additionalProperties?: unknown;
    items?: unknown;
    anyOf?: unknown[];
  };
  return {
    ...(type === undefined ? {} : { type }),
    ...(required === undefined ? {} : { required }),
    ...(properties === undefined ? {} : { properties: toShapes(properties) }),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: toShape(additionalProperties) } : {}),
    ...(items === undefined ? {} : { items: toShape(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(toShape) }),
  };
}

function toShapes(properties: JsonSchema): JsonSchema {
  const shapes = Object.entries(properties).map(([name, schema]) => [
    name,
    OPEN_FIELDS.has(name) ? { type: 'object' } : toShape(schema),
  ]);
  return Object.fromEntries(shapes);
}
