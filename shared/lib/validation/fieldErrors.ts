import type { ErrorObject } from 'ajv/dist/2020.js';
import { listBriefly } from '../listBriefly.ts';

/** Describes an error of a body: the field, and a sentence that names it. */
export function describeFieldError(error: ErrorObject, fieldPrefix: string): { field?: string; detail: string } {
  const path = error.instancePath.slice(1).replaceAll('/', '.');
  const { missingProperty, additionalProperty } = error.params as Record<string, unknown>;
  const property = missingProperty ?? additionalProperty;
  const name = property === undefined ? '' : sanitizeFieldName(property);
  const field = `${fieldPrefix}${[path, name].filter((part) => part !== '').join('.')}`.replace(/\.$/, '');
  const problem = describeProblem(error);
  return field === '' ? { detail: `The body ${problem}.` } : { field, detail: `${field} ${problem}.` };
}

function describeProblem({ keyword, params, parentSchema, message }: ErrorObject): string {
  const { allowedValues, type, format, limit } = params as Record<string, unknown>;
  const expected: unknown = parentSchema?.['expected'];
  if (typeof expected === 'string') return `must be ${expected}`;
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'enum':
      return `must be one of: ${listBriefly(allowedValues as unknown[])}`;
    case 'type':
      return `must be ${withArticle(String(type).replaceAll(',', ' or '))}`;
    case 'format':
      return format === 'text' ? 'must be Unicode text without NUL characters' : `must be a valid ${String(format)}`;
    case 'pattern':
      return `must be ${String(parentSchema?.['description'] ?? 'in the documented format')}`;
    case 'minLength':
    case 'maxLength':
      return `must have at ${keyword === 'minLength' ? 'least' : 'most'} ${String(limit)} character${limit === 1 ? '' : 's'}`;
    case 'minItems':
    case 'maxItems':
      return `must have at ${keyword === 'minItems' ? 'least' : 'most'} ${String(limit)} item${limit === 1 ? '' : 's'}`;
    case 'minimum':
    case 'maximum':
      return `must be at ${keyword === 'minimum' ? 'least' : 'most'} ${String(limit)}`;
    default:
      return message ?? 'is not valid';
  }
}

/** Shortens and cleans a field name from a request so that an error detail can repeat it. */
function sanitizeFieldName(name: unknown): string {
  return String(name).slice(0, 64).toWellFormed().replaceAll('\u0000', '\uFFFD');
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
