import { toPublicSchema } from '../../../shared/lib/validation/publicSchema.ts';
import { ErrorResponse } from '../../openapi/errorSchemas.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Parameters depend on the model. Their constraints would be half of the list of tools. */
const OPEN_FIELDS: ReadonlySet<string> = new Set(['params', 'metadata']);

/**
 * Builds the output schema of a tool: one object with the fields of all its results and of errors, none required. Some
 * clients validate errors against it although the protocol exempts them, and some hosts drop tools with `anyOf` here.
 */
export function toOutputSchema(output: unknown): JsonSchema {
  const { anyOf: results = [output] } = output as { anyOf?: unknown[] };
  const properties = [...results, ErrorResponse].map((result) => toShape(result)['properties'] as JsonSchema);
  return { type: 'object', properties: Object.assign({}, ...properties) };
}

/**
 * Reduces the schema of a result to the names and types of its fields. Clients load it with every list of tools, and
 * one that validates results with a cached list must accept values that are new, such as a model.
 */
function toShape(schema: unknown): JsonSchema {
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
