import { writeFile } from 'node:fs/promises';
import { InvalidOutputError } from '../media/download.ts';
import { deleteTempFile } from '../media/tempFiles.ts';
import { parseBoundedJson, tryParseBoundedJson } from '../../lib/boundedJson.ts';
import { config } from '../../lib/config.ts';
import { type ModelKind, OUTPUTS_MAX } from '../../spec/catalog.ts';
import { RESPONSE_MAX_BYTES } from './http.ts';
import { getRequestTrace } from './requestTrace.ts';

/** A response in JSON, which may contain tens of megabytes of base64. */
export interface ImageResponse {
  /** The JSON without the images; undefined if it is not JSON. */
  body: unknown;
  /** The images, in the order of the response. */
  images: ResponseImage[];
}

/** An image in a local file or at an address. `entry` is its place in the list of the response. */
export type ResponseImage = ({ file: string } | { url: string }) & { entry: number };

/** Number of characters that are read to distinguish an address from base64. */
const PREFIX_CHARACTERS = 256;
const URL_MAX_CHARACTERS = 8 * 1024;

/** Largest image that a response contains: other files of its upstream are on the local disk at the same time. */
const RESPONSE_IMAGE_MAX_BYTES = 64 * 1024 * 1024;

/** Largest size in bytes of the files in a response: of each of them, and of all together. */
export interface FileLimits {
  each: number;
  together: number;
}

export function getFileLimits(kind: ModelKind): FileLimits {
  const together = config.MEDIA_MAX_BYTES;
  return { each: kind === 'image' ? Math.min(RESPONSE_IMAGE_MAX_BYTES, together) : together, together };
}

/** A field that may contain an image. `*` in its path stands for any name, or any entry of a list. */
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
 * Reads a response as a stream and writes its images to new files. After an error none of them exists.
 * @param fields where images may be; the first one in the response that is not empty counts, in every entry of its
 *   list.
 * @throws InvalidOutputError if they exceed the limits; otherwise any error of the stream or a file.
 */
export async function readImageResponse(
  chunks: AsyncIterable<Buffer>,
  newFile: () => Promise<string>,
  { each, together }: FileLimits,
  fields = IMAGES_API_FIELDS,
): Promise<ImageResponse> {
  const extracted: ExtractedImages = { field: undefined, rest: '' };
  const parts = extractImageParts(chunks, fields, extracted);
  const images: ResponseImage[] = [];
  let bytesLeft = together;
  try {
    for await (const { entry, text } of splitImages(parts)) {
      const prefix = await readCharacters(text, PREFIX_CHARACTERS);
      // A `data:` address contains the image itself, and some upstreams put its header before base64.
      const dataUrlHeader = /^data:[^,]*,/i.exec(prefix)?.[0];
      if (extracted.field?.isAddress === true && dataUrlHeader === undefined) {
        const url = prefix + (await readCharacters(text, URL_MAX_CHARACTERS));
        if (url.length > URL_MAX_CHARACTERS) throw new Error('the address is too long');
        images.push({ url: unescapeJson(latin1ToUtf8(url)), entry });
      } else {
        const file = await newFile();
        const content = decodeBase64(prefix.slice(dataUrlHeader?.length), text);
        bytesLeft -= await writeOutputFile(content, file, Math.min(bytesLeft, each));
        images.push({ file, entry });
      }
    }
    const body = tryParseBoundedJson(latin1ToUtf8(extracted.rest));
    getRequestTrace()?.onBody(body);
    if (body !== undefined) return { body, images };
    await deleteImageFiles(images);
    return { body, images: [] };
  } catch (error) {
    await deleteImageFiles(images);
    throw error;
  } finally {
    await parts.return(undefined);
  }
}

/** Deletes the files of images that are not used. */
export async function deleteImageFiles(images: readonly ResponseImage[]): Promise<void> {
  for (const image of images) if ('file' in image) await deleteTempFile(image.file);
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
 * Writes an output to a new file, and returns its size. After an error the file does not exist.
 * @throws InvalidOutputError if it has more than `maxBytes`; otherwise any error of the stream or the file.
 */
export async function writeOutputFile(chunks: AsyncIterable<Buffer>, file: string, maxBytes: number): Promise<number> {
  let bytes = 0;
  async function* limitBytes(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new InvalidOutputError(`The output is larger than ${maxBytes} bytes.`);
      yield chunk;
    }
  }
  try {
    await writeFile(file, limitBytes(), { flush: true });
    return bytes;
  } catch (error) {
    await deleteTempFile(file);
    throw error;
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

/** A part of the raw content of an image. */
interface ImagePart {
  /** Number of the image in the response. */
  image: number;
  /** Its place in the first list around it. */
  entry: number;
  text: string;
}

interface ExtractedImages {
  /** The field with the images; undefined until it is found. */
  field: ImageField | undefined;
  /** The JSON without the contents of the fields, one character per byte. */
  rest: string;
}

/** Yields the images one by one. The parts of one are read, or skipped, before the next one is found. */
async function* splitImages(
  parts: AsyncGenerator<ImagePart, undefined>,
): AsyncGenerator<{ entry: number; text: TextParts }> {
  let part = (await parts.next()).value;
  while (part !== undefined) {
    const { image, entry } = part;
    const isSame = () => part !== undefined && part.image === image;
    const readText = async function* (): TextParts {
      while (part !== undefined && isSame()) {
        yield part.text;
        part = (await parts.next()).value;
      }
      return undefined;
    };
    yield { entry, text: readText() };
    while (isSame()) part = (await parts.next()).value;
  }
}

/**
 * Yields the raw content of the images in parts: of the first of the fields that is not empty, and of the same field in
 * other entries. Collects the rest of the response in `extracted`.
 */
async function* extractImageParts(
  chunks: AsyncIterable<Buffer>,
  fields: readonly ImageField[],
  extracted: ExtractedImages,
): AsyncGenerator<ImagePart, undefined> {
  const extract = createImageExtractor(fields, extracted);
  for await (const chunk of chunks) {
    yield* extract(chunk.toString('latin1'));
    if (extracted.rest.length > RESPONSE_MAX_BYTES)
      throw new Error(`the response has more than ${RESPONSE_MAX_BYTES} bytes besides the images`);
  }
  return undefined;
}

/** Objects and lists inside of each other that are tracked; what is deeper has no path. */
const DEPTH_MAX = 64;

/**
 * Extracts the images from JSON, character by character. It tracks only strings, names and depth; the JSON parser
 * validates the rest afterwards.
 */
function createImageExtractor(
  fields: readonly ImageField[],
  extracted: ExtractedImages,
): (json: string) => ImagePart[] {
  /** Names of the fields around the current position; the index for an entry of a list. */
  const path: (string | number)[] = [];
  let depth = 0;
  let isInText = false;
  let isEscaped = false;
  /** A value may follow: a colon, a comma or the beginning of a list is before it. */
  let isBeforeValue = false;
  /** The last string, which is a name if a colon follows. */
  let text = '';
  let found: ImageField | undefined;
  let images = 0;
  let isImage = false;

  return (json) => {
    const parts: ImagePart[] = [];
    let from = 0;
    const flush = (to: number): void => {
      const part = json.slice(from, to);
      from = to;
      if (found === undefined) {
        extracted.rest += part;
        if (isInText) text += part;
        return;
      }
      extracted.field ??= part === '' ? undefined : found;
      if (part === '' || extracted.field !== found) return;
      if (!isImage) images += 1;
      isImage = true;
      const entry = path.find((step) => typeof step === 'number') ?? 0;
      if (images <= OUTPUTS_MAX) parts.push({ image: images, entry, text: part });
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
        const step = path[depth - 1];
        isBeforeValue = char === ':' || char === '[' || (char === ',' && typeof step === 'number');
        if (char === ',' && typeof step === 'number') path[depth - 1] = step + 1;
        if (char === ':' && depth <= DEPTH_MAX) path[depth - 1] = text;
        if (char === '{' || char === '[') {
          depth += 1;
          if (depth <= DEPTH_MAX) path[depth - 1] = char === '[' ? 0 : '';
        }
        if (char === '}' || char === ']') {
          depth -= 1;
          path.length = Math.max(0, Math.min(path.length, depth));
        }
      }
    }
    flush(json.length);
    return parts;
  };
}

function matchesPath({ path }: ImageField, current: readonly (string | number)[]): boolean {
  return path.length === current.length && path.every((name, index) => name === '*' || name === current[index]);
}
