import type { ErrorObject } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { ServiceError } from '../../spec/errors.ts';
import { describeFieldError } from './fieldErrors.ts';
import { ajv } from './schemaValidator.ts';

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
