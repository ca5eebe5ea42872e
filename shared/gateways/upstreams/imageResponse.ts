import { writeFile } from 'node:fs/promises';
import { InvalidOutputError } from '../media/download.ts';
import { deleteTempFile } from '../media/tempFiles.ts';
import { tryParseJson } from './http.ts';

/** An answer of the Images API, whose image may be tens of megabytes of base64 in the middle of its JSON. */
export interface ImageResponse {
  /** What was left when the image was taken out; undefined where that is not JSON. */
  body: unknown;
  /** The image, in a file of ours or at an address. */
  image: { file: string } | { url: string } | undefined;
}

/** How much there may be of what is not the image. */
const METADATA_MAX_BYTES = 1024 * 1024;
/** How much of a text it takes to see what it is. */
const PREFIX_CHARACTERS = 256;
const URL_MAX_CHARACTERS = 8 * 1024;

/**
 * Reads an answer as it comes, and writes the first image in it to a new file.
 * @throws InvalidOutputError where it has more than `maxBytes`; else what the chunks or the file throw. Then there is no
 * file.
 */
export async function readImageResponse(
  chunks: AsyncIterable<Buffer>,
  newFile: () => Promise<string>,
  maxBytes: number,
): Promise<ImageResponse> {
  const extracted: ExtractedImageField = { field: '', rest: '' };
  const text = extractImageText(chunks, extracted);
  try {
    const prefix = await readCharacters(text, PREFIX_CHARACTERS);
    // An address may hold the image itself, and base64 may come with the beginning of such an address.
    const dataUrlHeader = /^data:[^,]*,/i.exec(prefix)?.[0];
    let image: ImageResponse['image'];
    if (extracted.field === 'url' && dataUrlHeader === undefined) {
      const url = prefix + (await readCharacters(text, URL_MAX_CHARACTERS));
      if (url.length > URL_MAX_CHARACTERS) throw new Error('an address that is none');
      image = { url: unescapeJson(latin1ToUtf8(url)) };
    } else if (prefix !== '') {
      image = { file: await newFile() };
      await writeImageFile(decodeBase64(prefix.slice(dataUrlHeader?.length), text, maxBytes), image.file);
    }
    const body = tryParseJson(latin1ToUtf8(extracted.rest));
    if (body !== undefined) return { body, image };
    if (image !== undefined && 'file' in image) await deleteTempFile(image.file);
    return { body, image: undefined };
  } finally {
    await text.return(undefined);
  }
}

/** So many characters of a text, or a few more, or all that there are. */
async function readCharacters(text: TextParts, characters: number): Promise<string> {
  let taken = '';
  while (taken.length < characters) {
    const { value } = await text.next();
    if (value === undefined) break;
    taken += value;
  }
  return taken;
}

async function writeImageFile(bytes: AsyncIterable<Buffer>, file: string): Promise<void> {
  try {
    await writeFile(file, bytes, { flush: true });
  } catch (error) {
    await deleteTempFile(file);
    throw error;
  }
}

/** The bytes of base64 as it is written in JSON. */
async function* decodeBase64(prefix: string, text: TextParts, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  let escaped = '';
  let base64 = '';
  for (let part: string | undefined = prefix; part !== undefined; part = (await text.next()).value) {
    escaped += part;
    // What is cut in two waits for its second half: an escape, or a group of four characters.
    const whole = escaped.length - (/\\(?:u[\da-fA-F]{0,3})?$/.exec(escaped)?.[0].length ?? 0);
    base64 += unescapeJson(escaped.slice(0, whole)).replaceAll(/[^\w+/-]/g, '');
    escaped = escaped.slice(whole);
    const groups = base64.length - (base64.length % 4);
    const decoded = Buffer.from(base64.slice(0, groups), 'base64');
    base64 = base64.slice(groups);
    bytes += decoded.length;
    if (bytes > maxBytes) throw new InvalidOutputError(`The output is larger than ${maxBytes} bytes.`);
    yield decoded;
  }
  yield Buffer.from(base64, 'base64');
}

/** What is given as a character for each byte. */
function latin1ToUtf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}

/** What a JSON text means, given what stands between its quotes. */
function unescapeJson(text: string): string {
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** A text that comes in parts. */
type TextParts = AsyncGenerator<string, undefined>;

interface ExtractedImageField {
  /** The name of the image's field; empty while none has come. */
  field: string;
  /** The JSON without the contents of such fields, a character for each byte. */
  rest: string;
}

/**
 * What stands between the quotes of the first `data[].b64_json` or `data[].url` that is not empty, in parts, as it is
 * written there; the rest of the answer is put into `answer`.
 */
async function* extractImageText(chunks: AsyncIterable<Buffer>, extracted: ExtractedImageField): TextParts {
  const extract = createImageExtractor(extracted);
  for await (const chunk of chunks) {
    const part = extract(chunk.toString('latin1'));
    if (extracted.rest.length > METADATA_MAX_BYTES)
      throw new Error(`an answer of more than ${METADATA_MAX_BYTES} bytes`);
    if (part !== '') yield part;
  }
}

/**
 * Takes the image out of JSON, character by character: it only tells what is a text, whose, and how deep. Whether all
 * is as it should be, the parser of the rest says.
 */
function createImageExtractor(extracted: ExtractedImageField): (json: string) => string {
  let depth = 0;
  let isInText = false;
  let isEscaped = false;
  let isAfterColon = false;
  /** The last text, which is a name if a colon follows; the last name, and the last one of the outermost object. */
  let text = '';
  let name = '';
  let outerName = '';
  let isExtracted = false;
  let isImage = false;

  return (json) => {
    let image = '';
    let from = 0;
    const flush = (to: number): void => {
      const part = json.slice(from, to);
      from = to;
      if (!isExtracted) {
        extracted.rest += part;
        if (isInText) text += part;
      } else if (isImage || (extracted.field === '' && part !== '')) {
        extracted.field = name;
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
          isInText = isExtracted = isImage = false;
        }
      } else if (char === '"') {
        flush(at + 1);
        isInText = true;
        text = '';
        isExtracted = isAfterColon && depth === 3 && outerName === 'data' && ['b64_json', 'url'].includes(name);
        isAfterColon = false;
      } else if (!' \t\n\r'.includes(char)) {
        isAfterColon = char === ':';
        if (isAfterColon) name = text;
        if (isAfterColon && depth === 1) outerName = name;
        if (char === '{' || char === '[') depth += 1;
        if (char === '}' || char === ']') depth -= 1;
      }
    }
    flush(json.length);
    return image;
  };
}
