import { BODY_LIMIT_BYTES, JSON_DEPTH_MAX, JSON_VALUES_MAX } from '../spec/limits.ts';

/** A text with more levels or values than are parsed. The message completes a sentence about what contains it. */
export class JsonBoundsError extends Error {}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Parses JSON of others: customers, upstreams, providers, clients. The caller bounds its size.
 * @param smallDepthMax as of {@link requireBoundedJson}.
 * @throws JsonBoundsError, SyntaxError
 */
export function parseBoundedJson(text: string, smallDepthMax?: number): unknown {
  requireBoundedJson(text, smallDepthMax);
  return JSON.parse(text) as unknown;
}

/** Parses JSON of others. @returns undefined if the text is something else, or has too many levels or values. */
export function tryParseBoundedJson(text: string, smallDepthMax?: number): unknown {
  try {
    return parseBoundedJson(text, smallDepthMax);
  } catch {
    return undefined;
  }
}

/**
 * Rejects a large text with too many levels or values, which would take a hundred times its size in memory once parsed.
 * A small one may have more of them, so that the error of a deep value names its field. Leaves all other errors to the
 * parser.
 * @param smallDepthMax most levels of a small text.
 * @throws JsonBoundsError
 */
export function requireBoundedJson(text: string, smallDepthMax = Infinity): void {
  const isSmall = text.length <= BODY_LIMIT_BYTES;
  const maxDepth = isSmall ? smallDepthMax : JSON_DEPTH_MAX;
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
      if (depth > maxDepth) throw new JsonBoundsError(`at most ${maxDepth} levels of lists and objects`);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
    else if (code === COMMA) values += 1;
    if (values > JSON_VALUES_MAX && !isSmall) throw new JsonBoundsError(`at most ${JSON_VALUES_MAX} values`);
  }
}
