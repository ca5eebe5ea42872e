import type { GenerationParams, ModelDefinition, ParamDefinition, ParamValue } from '../../spec/catalog.ts';

/** Lists the combinations of the values of a model's parameters: all of a list, and the limits and default of a range. */
export function listParams({ params }: Pick<ModelDefinition, 'params'>): GenerationParams[] {
  let combinations: GenerationParams[] = [{}];
  for (const [name, param] of Object.entries(params)) {
    const values = listValues(param);
    combinations = combinations.flatMap((known) => values.map((value) => ({ ...known, [name]: value })));
  }
  return combinations;
}

function listValues(param: ParamDefinition): ParamValue[] {
  if (param.enum !== undefined) return [...param.enum];
  if (param.type === 'boolean') return [true, false];
  const limits = [param.minimum, param.maximum, param.default].filter((value) => value !== undefined);
  return [...new Set(limits)];
}
