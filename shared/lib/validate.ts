import { Ajv2020, type AnySchemaObject, type ErrorObject } from 'ajv/dist/2020.js';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import type { Static, TSchema } from 'typebox';
import { ServiceError } from '../spec/errors.ts';

/**
 * ASCII only, without blanks, quotes and brackets. Accounts are found by the address in lower case, and some other
 * letters have the same lower case: the Kelvin sign becomes a k, so two mailboxes would share one account.
 */
const EMAIL_PATTERN = /^[!#-;=?A-~]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/;
export const EMAIL_MAX_CHARACTERS = 254;

/** Returns true if a text has the syntax of an e-mail address. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_MAX_CHARACTERS && EMAIL_PATTERN.test(text);
}

/**
 * Validates input without type coercion ("5" is not 5) and fills in defaults. Strings of the format `text` must be
 * storable: no NUL, no lone surrogate, and no U+FFFD, which decoders put in the place of invalid UTF-8. The schemas
 * themselves are not validated: TypeScript checks them, and compiling the meta-schema is slower than all of them.
 */
const ajv = new Ajv2020({ useDefaults: true, verbose: true, validateSchema: false });

ajv.addFormat('text', (text: string) => text.isWellFormed() && !/[\u0000\uFFFD]/.test(text));
ajv.addFormat('email', EMAIL_PATTERN);
// Removes white space at both ends before lengths are checked.
ajv.addKeyword({
  keyword: 'trimmed',
  type: 'string',
  schemaType: 'boolean',
  modifying: true,
  before: 'maxLength',
  validate: (_schema: boolean, text: string, _parent?: AnySchemaObject, at?: DataValidationCxt) => {
    if (at !== undefined) at.parentData[at.parentDataProperty] = text.trim();
    return true;
  },
});

/** Returns whether a keyword of a schema is an extension from above, which clients do not understand. */
export function isInternalKeyword(key: string, value: unknown): boolean {
  return key === 'trimmed' || (key === 'format' && value === 'text');
}

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns whether a text has the form of a UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return UUID_PATTERN.test(text);
}

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
    const { detail, field } = describeFieldError((validate.errors as ErrorObject[])[0] as ErrorObject, fieldPrefix);
    throw new ServiceError('validation_error', detail, { field });
  };
}

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
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'enum':
      return `must be one of: ${(allowedValues as unknown[]).join(', ')}`;
    case 'type':
      return `must be ${withArticle(String(type))}`;
    case 'format':
      return format === 'text' ? 'must be Unicode text without NUL characters' : `must be a valid ${String(format)}`;
    case 'pattern':
      return `must be ${String(parentSchema?.['description'] ?? 'in the documented format')}`;
    case 'minLength':
    case 'maxLength':
      return `must have at ${keyword === 'minLength' ? 'least' : 'most'} ${String(limit)} character${limit === 1 ? '' : 's'}`;
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
