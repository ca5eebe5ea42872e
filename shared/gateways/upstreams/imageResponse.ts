import { writeFile } from 'node:fs/promises';
import { InvalidOutputError } from '../media/download.ts';
import { deleteTempFile } from '../media/tempFiles.ts';
import { parseBoundedJson, tryParseBoundedJson } from '../../lib/boundedJson.ts';
import { getRequestTrace } from './requestTrace.ts';

/** A response in JSON, which may contain tens of megabytes of base64. */
export interface ImageResponse {
  /** The JSON without the image; undefined if it is not JSON. */
  body: unknown;
  /** The image, in a local file or at an address. */
  image: { file: string } | { url: string } | undefined;
}

/** Maximum size of the JSON without the image. */
const METADATA_MAX_BYTES = 1024 * 1024;
/** Number of characters that are read to distinguish an address from base64. */
const PREFIX_CHARACTERS = 256;
const URL_MAX_CHARACTERS = 8 * 1024;

/** A field that may contain the image. `*` in its path stands for any name, or any entry of a list. */
export interface ImageField {
  path: readonly string[];
  /** True if it contains an address of the image, and not the image itself. */
  isAddress: boolean;
}

/** Fields of OpenAI's Images API. */
const IMAGES_API_FIELDS: readonly ImageField[] = [
  { path: ['data', '*', 'b64_json'], isAddress: false },
  { path: ['data', '*', 'url'], isAddress: true },
];

/**
 * Reads a response as a stream and writes its first image to a new file. After an error the file does not exist.
 * @param fields where images may be; the first one in the response that is not empty counts.
 * @throws InvalidOutputError if the image has more than `maxBytes`; otherwise any error of the stream or the file.
 */
export async function readImageResponse(
  chunks: AsyncIterable<Buffer>,
  newFile: () => Promise<string>,
  maxBytes: number,
  fields = IMAGES_API_FIELDS,
): Promise<ImageResponse> {
  const extracted: ExtractedImageField = { field: undefined, rest: '' };
  const text = extractImageText(chunks, fields, extracted);
  try {
    const prefix = await readCharacters(text, PREFIX_CHARACTERS);
    // A `data:` address contains the image itself, and some upstreams put its header before base64.
    const dataUrlHeader = /^data:[^,]*,/i.exec(prefix)?.[0];
    let image: ImageResponse['image'];
    if (extracted.field?.isAddress === true && dataUrlHeader === undefined) {
      const url = prefix + (await readCharacters(text, URL_MAX_CHARACTERS));
      if (url.length > URL_MAX_CHARACTERS) throw new Error('the address is too long');
      image = { url: unescapeJson(latin1ToUtf8(url)) };
    } else if (prefix !== '') {
      image = { file: await newFile() };
      await writeOutputFile(decodeBase64(prefix.slice(dataUrlHeader?.length), text), image.file, maxBytes);
    }
    const body = tryParseBoundedJson(latin1ToUtf8(extracted.rest));
    getRequestTrace()?.onBody(body);
    if (body !== undefined) return { body, image };
    if (image !== undefined && 'file' in image) await deleteTempFile(image.file);
    return { body, image: undefined };
  } finally {
    await text.return(undefined);
  }
}

/** Reads at least this many characters, or all of them if the text is shorter. */
async function readCharacters(text: TextParts, characters: number): Promise<string> {
  let taken = '';
  while (taken.length < characters) {
    const { value } = await text.next();
    if (value === undefined) break;
    taken += value;
  }
  return taken;
}

/**
 * Writes an output to a new file. After an error the file does not exist.
 * @throws InvalidOutputError if it has more than `maxBytes`; otherwise any error of the stream or the file.
 */
export async function writeOutputFile(bytes: AsyncIterable<Buffer>, file: string, maxBytes: number): Promise<void> {
  try {
    await writeFile(file, limitBytes(bytes, maxBytes), { flush: true });
  } catch (error) {
    await deleteTempFile(file);
    throw error;
  }
}

async function* limitBytes(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new InvalidOutputError(`The output is larger than ${maxBytes} bytes.`);
    yield chunk;
  }
}

/** Decodes base64 from its form in JSON, with escapes. */
async function* decodeBase64(prefix: string, text: TextParts): AsyncGenerator<Buffer> {
  let escaped = '';
  let base64 = '';
  for (let part: string | undefined = prefix; part !== undefined; part = (await text.next()).value) {
    escaped += part;
    // An incomplete escape, or group of four characters, waits for the next part.
    const whole = escaped.length - (/\\(?:u[\da-fA-F]{0,3})?$/.exec(escaped)?.[0].length ?? 0);
    base64 += unescapeJson(escaped.slice(0, whole)).replaceAll(/[^\w+/-]/g, '');
    escaped = escaped.slice(whole);
    const groups = base64.length - (base64.length % 4);
    const decoded = Buffer.from(base64.slice(0, groups), 'base64');
    base64 = base64.slice(groups);
    yield decoded;
  }
  yield Buffer.from(base64, 'base64');
}

/** Decodes a string that has one character per byte. */
function latin1ToUtf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}

/**
 * Unescapes the content of a JSON string. Parses only what has escapes: the rest of an image would be copied for
 * nothing.
 */
function unescapeJson(text: string): string {
  return text.includes('\\') ? (parseBoundedJson(`"${text}"`) as string) : text;
}

/** A string that arrives in parts. */
type TextParts = AsyncGenerator<string, undefined>;

interface ExtractedImageField {
  /** The field with the image; undefined until it is found. */
  field: ImageField | undefined;
  /** The JSON without the contents of such fields, one character per byte. */
  rest: string;
}

/**
 * Yields the raw content of the first of the fields that is not empty, in parts. Collects the rest of the response in
 * `extracted`.
 */
async function* extractImageText(
  chunks: AsyncIterable<Buffer>,
  fields: readonly ImageField[],
  extracted: ExtractedImageField,
): TextParts {
  const extract = createImageExtractor(fields, extracted);
  for await (const chunk of chunks) {
    const part = extract(chunk.toString('latin1'));
    if (extracted.rest.length > METADATA_MAX_BYTES)
      throw new Error(`the response has more than ${METADATA_MAX_BYTES} bytes besides the image`);
    if (part !== '') yield part;
  }
}

/** Objects and lists inside of each other that are tracked; what is deeper has no path. */
const DEPTH_MAX = 64;

/**
 * Extracts the image from JSON, character by character. It tracks only strings, names and depth; the JSON parser
 * validates the rest afterwards.
 */
function createImageExtractor(fields: readonly ImageField[], extracted: ExtractedImageField): (json: string) => string {
  /** Names of the fields around the current position; null for an entry of a list. */
  const path: (string | null)[] = [];
  let depth = 0;
  let isInText = false;
  let isEscaped = false;
  /** A value may follow: a colon, a comma or the beginning of a list is before it. */
  let isBeforeValue = false;
  /** The last string, which is a name if a colon follows. */
  let text = '';
  let found: ImageField | undefined;
  let isImage = false;

  return (json) => {
    let image = '';
    let from = 0;
    const flush = (to: number): void => {
      const part = json.slice(from, to);
      from = to;
      if (found === undefined) {
        extracted.rest += part;
        if (isInText) text += part;
      } else if (isImage || (extracted.field === undefined && part !== '')) {
        extracted.field = found;
        isImage = true;
        image += part;
      }
    };
    for (let at = 0; at < json.length; at += 1) {
      const char = json.charAt(at);
      if (isInText) {
        if (isEscaped) isEscaped = false;
        else if (char === '\\') isEscaped = true;
        else if (char === '"') {
          flush(at);
          isInText = isImage = false;
          found = undefined;
        }
      } else if (char === '"') {
        flush(at + 1);
        isInText = true;
        text = '';
        found = isBeforeValue && depth <= DEPTH_MAX ? fields.find((field) => matchesPath(field, path)) : undefined;
        isBeforeValue = false;
      } else if (!' \t\n\r'.includes(char)) {
        isBeforeValue = char === ':' || char === '[' || (char === ',' && path[depth - 1] === null);
        if (char === ':' && depth <= DEPTH_MAX) path[depth - 1] = text;
        if (char === '{' || char === '[') {
          depth += 1;
          if (depth <= DEPTH_MAX) path[depth - 1] = char === '[' ? null : '';
        }
        if (char === '}' || char === ']') {
          depth -= 1;
          path.length = Math.max(0, Math.min(path.length, depth));
        }
      }
    }
    flush(json.length);
    return image;
  };
}

function matchesPath({ path }: ImageField, current: readonly (string | null)[]): boolean {
  return path.length === current.length && path.every((name, index) => name === '*' || name === current[index]);
}
