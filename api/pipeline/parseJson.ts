import { JsonBoundsError, parseBoundedJson } from '../../shared/lib/boundedJson.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';

type JsonBody = NonNullable<Context['request']['body']>;

const OBJECT_OR_ARRAY = /^[\x20\t\n\r]*[[{]/;

/** The field `__proto__`, also with escaped characters. A string that contains it has a backslash before the quote. */
const PROTOTYPE_FIELD =
  /"(?:_|\\u005[Ff]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[Ff])(?:t|\\u0074)(?:o|\\u006[Ff])(?:_|\\u005[Ff]){2}"\s*:/;

/**
 * Parses the text of a JSON body. An empty text is an empty object.
 * @throws ServiceError validation_error
 */
export function parseJson(text: string): JsonBody {
  if (text === '') return {};
  if (!OBJECT_OR_ARRAY.test(text)) throw invalidJsonError('only an object or an array is accepted');
  let value: JsonBody;
  try {
    value = parseBoundedJson(text) as JsonBody;
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof JsonBoundsError) throw new ServiceError('validation_error', `The body must have ${message}.`);
    throw invalidJsonError(message.slice(0, 200));
  }
  if (namesPrototype(text)) throw new ServiceError('validation_error', PROTOTYPE_DETAIL);
  return value;
}

export const PROTOTYPE_DETAIL = '__proto__ is not a known field.';

/** Returns true if a field of valid JSON is called `__proto__`. */
export function namesPrototype(text: string): boolean {
  return PROTOTYPE_FIELD.test(text);
}

export function invalidJsonError(problem: string): ServiceError {
  return new ServiceError('validation_error', `The body is not a valid JSON object: ${problem}.`);
}
