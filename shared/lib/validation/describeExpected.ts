/** Keywords of a schema that say what a value must be. */
interface DescribedSchema {
  description?: string;
  type?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

/** Says what a value of the configuration must be: "must be ...". */
export function describeExpected(schema: object = {}): string {
  const { description, type, enum: values, minimum, maximum, minItems = 0, maxItems } = schema as DescribedSchema;
  if (description !== undefined) return description;
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (type === 'boolean') return 'true or false';
  if (type === 'object') return 'an object';
  if (type === 'array' && maxItems !== undefined) return `a list of ${minItems} to ${maxItems} values`;
  if (type === 'array') return minItems === 0 ? 'a list' : 'a list that is not empty';
  if (type !== 'integer' && type !== 'number') return 'a text that is not empty';
  const from = `a ${type === 'integer' ? 'whole ' : ''}number from ${minimum}`;
  return maximum === undefined ? from : `${from} to ${maximum}`;
}
