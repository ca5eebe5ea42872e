import type { ErrorObject } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { ServiceError } from '../../spec/errors.ts';
import { listBriefly } from '../listBriefly.ts';
import { ajv } from './schemaValidator.ts';
import { STORABLE_TEXT } from './storableText.ts';

export type Parse<Value> = (input: unknown) => Value;

/**
 * Creates a parser for JSON bodies. The schema is compiled on first use.
 * @param fieldPrefix prefix of the field names in error details, such as `params.`
 * @returns a function that returns the value with its defaults, or throws a `validation_error` that names the field.
 */
export function createBodyParser<Schema extends TSchema>(schema: Schema, fieldPrefix = ''): Parse<Static<Schema>> {
  return (input) => {
    const validate = ajv.compile<Static<Schema>>(schema);
    if (validate(input)) return input;
    const [error] = validate.errors as [ErrorObject];
    const { detail, field } = describeFieldError(error, fieldPrefix);
    throw new ServiceError('validation_error', detail, { field, ...findKnownFields(error) });
  };
}

/** Lists the fields that an object may have, if the error is an unknown one. */
function findKnownFields({ keyword, parentSchema }: ErrorObject): { knownFields?: string[] } {
  if (keyword !== 'additionalProperties') return {};
  return { knownFields: Object.keys((parentSchema?.['properties'] ?? {}) as object) };
}

/** Describes an error of a body: the field, and a sentence that names it. */
function describeFieldError(error: ErrorObject, fieldPrefix: string): { field?: string; detail: string } {
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
      return `must be ${format === 'text' ? STORABLE_TEXT : `a valid ${String(format)}`}`;
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
