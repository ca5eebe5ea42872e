import type { GenerationParams, Template } from '../../spec/catalog.ts';
import { fillTemplate } from '../template.ts';

/**
 * Computes the price of a generation: a template that results in a number of credits, or in `base` and `per_second`.
 * @throws Error if the result is not an integer of at least 1.
 */
export function computePrice(formula: Template, params: GenerationParams): number {
  const result = fillTemplate(formula, params);
  const credits = typeof result === 'object' && result !== null ? sumParts(result, params) : result;
  if (isInteger(credits) && credits >= 1) return credits;
  throw new Error(`the price must be a whole number of credits from 1, not ${JSON.stringify(credits)}`);
}

function sumParts(parts: object, { duration }: GenerationParams): unknown {
  const { base = 0, per_second: perSecond = 0 } = parts as Record<string, unknown>;
  if (!isInteger(base) || !isInteger(perSecond)) throw new Error('base and per_second must be whole numbers');
  if (perSecond === 0) return base;
  if (!isInteger(duration)) throw new Error('per_second requires the integer parameter duration');
  return base + perSecond * duration;
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
