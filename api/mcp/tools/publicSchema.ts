/** What our own validation understands, and no client does. */
const isInternalKeyword = (key: string, value: unknown) => key === 'trimmed' || (key === 'format' && value === 'text');

/** A schema as clients see it: plain JSON Schema, in which each value says its type, for the models that read it. */
export function toPublicSchema(schema: unknown): Record<string, unknown> {
  return stripInternalKeywords(schema) as Record<string, unknown>;
}

function stripInternalKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(stripInternalKeywords);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema)
    .filter(([key, value]) => !isInternalKeyword(key, value))
    .map(([key, value]) => [key, stripInternalKeywords(value)] as const);
  const cleaned = Object.fromEntries(entries) as Record<string, unknown>;
  const { enum: values, type } = cleaned;
  if (Array.isArray(values) && type === undefined) {
    return { type: typeof values[0] === 'number' ? 'integer' : 'string', ...cleaned };
  }
  return cleaned;
}
