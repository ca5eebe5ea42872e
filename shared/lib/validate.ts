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
    throw new ServiceError(
      'validation_error',
      describeFieldError((validate.errors as ErrorObject[])[0] as ErrorObject, fieldPrefix),
    );
  };
}

function describeFieldError(error: ErrorObject, within: string): string {
  const path = error.instancePath.slice(1).replaceAll('/', '.');
  const params = error.params as Record<string, unknown>;
  const field = (name: string) => `${within}${path === '' ? '' : `${path}.`}${name}`;
  const here = `${within}${path}` === '' ? 'The body' : `${within}${path}`.replace(/\.$/, '');
  switch (error.keyword) {
    case 'required':
      return `${field(String(params['missingProperty']))} is required.`;
    case 'additionalProperties':
      return `${field(sanitizeFieldName(params['additionalProperty']))} is not known here.`;
    case 'enum':
      return `${here} must be one of: ${(params['allowedValues'] as unknown[]).join(', ')}.`;
    case 'type':
      return `${here} must be ${withArticle(String(params['type']))}.`;
    case 'format':
      return params['format'] === 'text'
        ? `${here} must be Unicode text without NUL characters.`
        : `${here} must be a valid ${String(params['format'])}.`;
    case 'pattern':
      return `${here} must be ${String(error.parentSchema?.['description'] ?? 'of another form')}.`;
    case 'minLength':
    case 'maxLength':
      return `${here} must have at ${error.keyword === 'minLength' ? 'least' : 'most'} ${String(params['limit'])} character${params['limit'] === 1 ? '' : 's'}.`;
    case 'minimum':
    case 'maximum':
      return `${here} must be at ${error.keyword === 'minimum' ? 'least' : 'most'} ${String(params['limit'])}.`;
    default:
      return `${here} ${error.message ?? 'is not valid'}.`;
  }
}

/** Shortens and cleans a field name from a request so that an error detail can repeat it. */
function sanitizeFieldName(name: unknown): string {
  return String(name).slice(0, 64).toWellFormed().replaceAll('\u0000', '\uFFFD');
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
