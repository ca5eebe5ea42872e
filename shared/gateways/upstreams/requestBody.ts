import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { type SubmitImage, UpstreamError } from './upstream.ts';

/** A field of a form: a text, or an image as a file. */
export type FormField = readonly [name: string, value: string | SubmitImage];
/** An object is sent as JSON, a list as form data. */
export type RequestBody = Readonly<Record<string, unknown>> | readonly FormField[];
/** Images whose base64 takes the place of a text in a body, by that text. */
export type InlineImages = ReadonlyMap<string, SubmitImage>;

export const isForm = (body: RequestBody): body is readonly FormField[] => Array.isArray(body);

/**
 * Builds form data. Addresses of the images become files; a list of them has one part each. Other values that are not
 * strings are sent as JSON.
 * @param listSuffix text after the name of a field with several files.
 */
export function toForm(
  body: Record<string, unknown>,
  images: readonly SubmitImage[] = [],
  listSuffix = '',
): FormField[] {
  return Object.entries(body).flatMap(([name, value]): FormField[] => {
    const values: unknown[] = Array.isArray(value) ? value : [value];
    const found = values.flatMap((one) => images.find(({ url }) => url === one) ?? []);
    if (values.length > 0 && found.length === values.length)
      return found.map((image) => [Array.isArray(value) ? `${name}${listSuffix}` : name, image]);
    return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
}

/** A body as it is sent, with its headers. */
export interface EncodedBody {
  headers: Record<string, string>;
  content: Buffer | Readable;
}

/**
 * State of a request: it waits for an image in our storage, for the connection, or, with all parts sent, for the
 * upstream.
 */
export type BodyProgress = 'reading' | 'sending' | 'sent';

/** A part of a body: bytes, or the content of an image, which is read when its turn comes. */
type Segment = Buffer | { image: SubmitImage; isBase64: boolean };

/**
 * Encodes a body. Its images are not in memory: they are read from our storage while it is sent.
 * @param onProgress called with each part of a body that contains images.
 */
export function encodeBody(
  body: RequestBody,
  inlineImages: InlineImages = new Map(),
  onProgress: (progress: BodyProgress) => void = () => {},
): EncodedBody {
  const boundary = `genmeter-${randomUUID()}`;
  const segments = isForm(body)
    ? encodeForm(body, boundary, inlineImages)
    : splitText(JSON.stringify(body), inlineImages);
  const type = isForm(body) ? `multipart/form-data; boundary=${boundary}` : 'application/json';
  if (segments.every((segment) => Buffer.isBuffer(segment)))
    return { headers: { 'content-type': type }, content: Buffer.concat(segments) };
  const bytes = segments.reduce((sum, segment) => sum + countBytes(segment), 0);
  return {
    headers: { 'content-type': type, 'content-length': String(bytes) },
    content: Readable.from(readSegments(segments, onProgress), { highWaterMark: 1 }),
  };
}

function encodeForm(fields: readonly FormField[], boundary: string, inlineImages: InlineImages): Segment[] {
  const parts = fields.flatMap(([name, value]): Segment[] => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${name.replaceAll('"', '%22')}"`;
    const end = Buffer.from('\r\n');
    if (typeof value === 'string') return [Buffer.from(`${head}\r\n\r\n`), ...splitText(value, inlineImages), end];
    const { contentType } = value;
    const file = `filename="image.${contentType.slice('image/'.length)}"\r\ncontent-type: ${contentType}`;
    return [Buffer.from(`${head}; ${file}\r\n\r\n`), { image: value, isBase64: false }, end];
  });
  return [...parts, Buffer.from(`--${boundary}--\r\n`)];
}

function splitText(text: string, inlineImages: InlineImages): Segment[] {
  if (inlineImages.size === 0) return [Buffer.from(text)];
  return text.split(new RegExp(`(${[...inlineImages.keys()].join('|')})`)).map((part) => {
    const image = inlineImages.get(part);
    return image === undefined ? Buffer.from(part) : { image, isBase64: true };
  });
}

function countBytes(segment: Segment): number {
  if (Buffer.isBuffer(segment)) return segment.length;
  return segment.isBase64 ? 4 * Math.ceil(segment.image.bytes / 3) : segment.image.bytes;
}

/**
 * The last part is always text.
 * @throws UpstreamError `unavailable` if an image cannot be read: a body that breaks off starts no run.
 */
async function* readSegments(
  segments: readonly Segment[],
  onProgress: (progress: BodyProgress) => void,
): AsyncGenerator<Uint8Array> {
  for (const segment of segments) {
    if (Buffer.isBuffer(segment)) {
      onProgress(segment === segments.at(-1) ? 'sent' : 'sending');
      yield segment;
      continue;
    }
    try {
      onProgress('reading');
      const content = await segment.image.read();
      for await (const chunk of segment.isBase64 ? encodeBase64(content) : content) {
        onProgress('sending');
        yield chunk;
        onProgress('reading');
      }
    } catch (error) {
      throw buildReadError(error as Error);
    }
  }
}

/** The error of a request whose image could not be read. It says nothing about the upstream. */
export function buildReadError({ message }: Error): UpstreamError {
  return new UpstreamError('unavailable', `An input image could not be read: ${message}`);
}

async function* encodeBase64(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = Buffer.concat([rest, chunk]);
    // Four characters encode three bytes.
    const whole = bytes.length - (bytes.length % 3);
    yield Buffer.from(bytes.toString('base64', 0, whole));
    rest = bytes.subarray(whole);
  }
  yield Buffer.from(Buffer.from(rest).toString('base64'));
}
