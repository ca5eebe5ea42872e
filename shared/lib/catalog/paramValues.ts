import type { GenerationParams, ModelDefinition, ParamDefinition, ParamValue } from '../../spec/catalog.ts';

/** Most combinations that are listed completely. */
const COMBINATIONS_MAX = 256;
/** Most combinations of the parameters that select an entry of a table. */
const TABLE_ENTRIES_MAX = 10_000;
/** Longest range of integers whose values are all listed. Longer ones cannot select an entry of a table. */
const LISTED_RANGE_MAX = 100;

type Definition = Pick<ModelDefinition, 'params'>;

/**
 * Lists values of a model's parameters: all combinations if they are few. Otherwise each value of each parameter, and
 * all combinations of each group of parameters.
 * @param groups parameters that together select an entry of a table.
 * @throws Error if a group cannot be listed.
 */
export function listParams({ params }: Definition, groups: readonly (readonly string[])[] = []): GenerationParams[] {
  const names = Object.keys(params);
  const count = names.reduce((product, name) => product * listValues(params[name] as ParamDefinition).length, 1);
  if (count <= COMBINATIONS_MAX) return combine(params, names).map(dropAbsent);
  const base = Object.fromEntries(names.map((name) => [name, listValues(params[name] as ParamDefinition)[0]]));
  const singles = names.map((name) => [name]);
  return [...singles, ...groups]
    .map((group) => group.filter((name) => Object.hasOwn(params, name)))
    .flatMap((group) => combine(params, group).map((values) => dropAbsent({ ...base, ...values })));
}

/** Lists all combinations of parameters. @throws Error if there are too many. */
function combine(params: Definition['params'], names: readonly string[]): Record<string, ParamValue | undefined>[] {
  let combinations: Record<string, ParamValue | undefined>[] = [{}];
  for (const name of names) {
    const values = listValues(params[name] as ParamDefinition);
    if (combinations.length * values.length > TABLE_ENTRIES_MAX)
      throw new Error(`${names.join(', ')} have more than ${TABLE_ENTRIES_MAX} combinations`);
    combinations = combinations.flatMap((known) => values.map((value) => ({ ...known, [name]: value })));
  }
  return combinations;
}

function dropAbsent(values: Record<string, ParamValue | undefined>): GenerationParams {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as GenerationParams;
}

/** Lists the values of a parameter; undefined if it may be absent. Of a long range, the limits and the default. */
function listValues(param: ParamDefinition): (ParamValue | undefined)[] {
  const absent = isOptional(param) ? [undefined] : [];
  if (param.enum !== undefined) return [...param.enum, ...absent];
  const { type, minimum = 0, maximum = 0, default: defaultValue } = param;
  if (type === 'boolean') return [true, false, ...absent];
  if (type === 'string') return [defaultValue ?? 'x'.repeat(Math.max(1, minimum)), ...absent];
  if (isListedRange(param)) return [...Array.from({ length: maximum - minimum + 1 }, (_, n) => minimum + n), ...absent];
  return [...new Set([minimum, maximum, ...(defaultValue === undefined ? [] : [defaultValue])]), ...absent];
}

/** Returns whether a request may leave out a parameter that has no default. */
export function isOptional({ required, default: defaultValue }: ParamDefinition): boolean {
  return required !== true && defaultValue === undefined;
}

/** Returns whether all values of a parameter are listed, so that it can select an entry of a table. */
export function isListable(param: ParamDefinition): boolean {
  return param.enum !== undefined || param.type === 'boolean' || isListedRange(param);
}

function isListedRange({ type, minimum = 0, maximum = 0 }: ParamDefinition): boolean {
  return type === 'integer' && maximum - minimum < LISTED_RANGE_MAX;
}
