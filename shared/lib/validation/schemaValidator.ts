import { type AnySchemaObject, Ajv2020 } from 'ajv/dist/2020.js';
import type { DataValidationCxt } from 'ajv/dist/types/index.js';
import { EMAIL_PATTERN } from '../email.ts';
import { parseInstant } from '../instant.ts';
import { isStorable } from './storableText.ts';

/**
 * Validates input without type coercion ("5" is not 5) and fills in defaults. Strings of the format `text` must be
 * storable. The schemas themselves are not validated: TypeScript checks them, and compiling the meta-schema is slower
 * than all of them.
 */
export const ajv = new Ajv2020({ useDefaults: true, verbose: true, validateSchema: false });

ajv.addFormat('text', isStorable);
ajv.addFormat('email', EMAIL_PATTERN);
ajv.addFormat('instant', (text: string) => parseInstant(text) !== null);
// Says what a value must be, for error details.
ajv.addKeyword({ keyword: 'expected', schemaType: 'string' });
// Keywords that the OpenAPI document has instead.
ajv.addKeyword({ keyword: 'documented', schemaType: 'object' });
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
  if (key === 'format') return value === 'text' || value === 'instant';
  return (key === 'trimmed' && value === true) || (key === 'expected' && typeof value === 'string');
}
