import {
  CREDITS_MAX,
  OUTPUTS_MAX,
  type GenerationParams,
  type ModelDefinition,
  type ParamDefinition,
  type Template,
} from '../../spec/catalog.ts';
import { fillTemplate, listTableVariables, type TemplateVariables } from '../template.ts';
import { isListable, isOptional, listParams } from './paramValues.ts';

const PARTS = ['base', 'per_second'];

/** The parts of a model that its price follows from. */
type Priced = Pick<ModelDefinition, 'params' | 'credits' | 'outputs'>;

/**
 * Computes the price of a generation: for each file, a template that results in a number of credits, or in `base` and
 * `per_second`.
 * @throws Error if the result is not a whole number of credits.
 */
export function computePrice(
  { credits: formula, outputs }: Omit<Priced, 'params'>,
  variables: TemplateVariables,
): number {
  const result = fillTemplate(formula, variables);
  const each = typeof result === 'object' && result !== null ? sumParts(result, variables) : result;
  const credits = isInteger(each) ? each * countOutputs(outputs, variables) : each;
  if (isInteger(credits) && credits >= 1 && credits <= CREDITS_MAX) return credits;
  throw new Error(`the price must be a whole number from 1 to ${CREDITS_MAX}, not ${JSON.stringify(credits)}`);
}

/** Computes the number of files of a generation. @throws Error if it is not a whole number that is allowed. */
export function countOutputs(outputs: Template | undefined, variables: TemplateVariables): number {
  const count = fillTemplate(outputs ?? 1, variables);
  if (isInteger(count) && count >= 1 && count <= OUTPUTS_MAX) return count;
  throw new Error(`"outputs" must be a whole number from 1 to ${OUTPUTS_MAX}, not ${JSON.stringify(count)}`);
}

function sumParts(parts: object, { duration }: TemplateVariables): number {
  const unknown = Object.keys(parts).find((name) => !PARTS.includes(name));
  if (unknown !== undefined) throw new Error(`a price has no field "${unknown}"; allowed are ${PARTS.join(' and ')}`);
  const { base = 0, per_second: perSecond = 0 } = parts as Record<string, unknown>;
  if (!isInteger(base) || !isInteger(perSecond)) throw new Error('base and per_second must be whole numbers');
  if (perSecond === 0) return base;
  if (!isInteger(duration)) throw new Error('per_second requires the integer parameter "duration"');
  return base + perSecond * duration;
}

/**
 * Lists the prices of a model at the limits of its parameters.
 * @throws Error if one has no price.
 */
export function listPrices(definition: Priced): [GenerationParams, number][] {
  const { params, credits, outputs = 1 } = definition;
  const tables = [...listTableVariables(credits), ...listTableVariables(outputs)];
  const wide = tables.flat().find((name) => params[name] !== undefined && !isListable(params[name]));
  if (wide !== undefined) throw new Error(`"${wide}" has too many values to select an entry of a table`);
  const values = [...listValueVariables(credits), ...listValueVariables(outputs)];
  const used = values.find((name) => ['number', 'string'].includes(params[name]?.type ?? ''));
  if (used !== undefined) throw new Error(`"${used}" must be an integer or a list of values to be part of a price`);
  // Linear in each value, so combinations of their limits have the lowest and the highest price of each entry of a
  // table.
  const groups = [[], ...tables].map((names) => [...new Set([...names, ...values, 'duration'])]);
  return listParams(definition, groups).map((tried) => {
    const variables = { ...getAbsentParams(definition), ...tried };
    try {
      return [tried, computePrice(definition, variables)];
    } catch (error) {
      throw new Error(`no price for ${JSON.stringify(tried)}: ${(error as Error).message}`, { cause: error });
    }
  });
}

/** Lists the variables whose values a template contains, or multiplies. */
function listValueVariables(template: Template): string[] {
  if (typeof template === 'string') return template.startsWith('$') ? [template.slice(1)] : [];
  if (typeof template !== 'object' || template === null) return [];
  const multiplied = 'per_second' in template ? ['duration'] : [];
  return [...multiplied, ...Object.values(template).flatMap(listValueVariables)];
}

/** Returns null for each parameter that a request may leave out. */
export function getAbsentParams({ params }: Pick<ModelDefinition, 'params'>): TemplateVariables {
  return Object.fromEntries(
    Object.keys(params)
      .filter((name) => isOptional(params[name] as ParamDefinition))
      .map((name) => [name, null]),
  );
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
