import { BODY_LIMIT_BYTES, JSON_DEPTH_MAX, JSON_VALUES_MAX } from '../../shared/spec/limits.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';

type JsonBody = NonNullable<Context['request']['body']>;

const OBJECT_OR_ARRAY = /^[\x20\t\n\r]*[[{]/;

/** The field `__proto__`, also with escaped characters. A string that contains it has a backslash before the quote. */
const PROTOTYPE_FIELD =
  /"(?:_|\\u005[Ff]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[Ff])(?:t|\\u0074)(?:o|\\u006[Ff])(?:_|\\u005[Ff]){2}"\s*:/;

const TOO_DEEP_DETAIL = `The body must have at most ${JSON_DEPTH_MAX} levels of lists and objects.`;
const TOO_MANY_VALUES_DETAIL = `The body must have at most ${JSON_VALUES_MAX} values.`;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Parses the text of a JSON body. An empty text is an empty object.
 * @throws ServiceError validation_error
 */
export function parseJson(text: string): JsonBody {
  if (text === '') return {};
  if (!OBJECT_OR_ARRAY.test(text)) throw invalidJsonError('only an object or an array is accepted');
  // A small body is parsed at once, so that the error of a deep value names its field.
  if (text.length > BODY_LIMIT_BYTES) requireBounded(text);
  let value: JsonBody;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidJsonError((error as Error).message.slice(0, 200));
  }
  if (PROTOTYPE_FIELD.test(text)) throw new ServiceError('validation_error', '__proto__ is not a known field.');
  return value;
}

/**
 * Rejects a text with too many levels or values, which would take a hundred times its size in memory once parsed. Leaves
 * all other errors to the parser.
 */
function requireBounded(text: string): void {
  let depth = 0;
  let values = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isInString) {
      if (code === BACKSLASH) index += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      if (depth > JSON_DEPTH_MAX) throw new ServiceError('validation_error', TOO_DEEP_DETAIL);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
    else if (code === COMMA) values += 1;
    if (values > JSON_VALUES_MAX) throw new ServiceError('validation_error', TOO_MANY_VALUES_DETAIL);
  }
}

export function invalidJsonError(problem: string): ServiceError {
  return new ServiceError('validation_error', `The body is not a valid JSON object: ${problem}.`);
}
