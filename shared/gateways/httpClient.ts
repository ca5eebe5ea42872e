import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type Dispatcher, request } from 'undici';
import { VERSION } from '../spec/version.ts';

/**
 * Sends every request of the service: to upstreams, hosts of outputs and images, receivers of webhooks, the moderation
 * service and clients of OAuth. The SDKs of Stripe and of the bucket, and sign-in, have clients of their own.
 */

export type HttpResponse = Dispatcher.ResponseData<unknown>;
/** The caller limits the time, and the addresses that the connections may have. */
export type HttpRequestOptions = Omit<Exclude<Parameters<typeof request>[1], undefined>, 'headers'> & {
  dispatcher: Dispatcher;
  signal: AbortSignal;
  headers?: Record<string, string> | undefined;
};

/** Sends a request. Redirects are not followed. */
export function sendRequest(url: string, options: HttpRequestOptions): Promise<HttpResponse> {
  const headers = { 'user-agent': `genmeter/${VERSION}`, 'accept-encoding': 'identity', ...options.headers };
  return request(url, Object.assign({}, options, { headers }));
}

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);
const CODINGS_MAX = 3;

/**
 * Returns the content of a response, which some servers compress although the request did not allow it. The reader
 * limits its size: no more is decoded than is read.
 */
export function getContent({ headers, body }: HttpResponse): Readable {
  const codings = String(headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length === 0) return body;
  const decoders = codings.map((coding) => DECODERS.get(coding)).filter((decoder) => decoder !== undefined);
  if (decoders.length < codings.length || codings.length > CODINGS_MAX)
    return body.destroy(new Error(`the response has the unknown encoding ${codings.join(', ')}`));
  // Reads of the last stream throw the errors of all. The last coding was applied last.
  const streams = decoders.toReversed().map((create) => create());
  return pipeline([body, ...streams], () => {}) as unknown as Readable;
}

/**
 * Reads content.
 * @throws the error of `createError` if it has more than `maxBytes`; the connection is closed then.
 */
export async function readBounded(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
  createError = () => new Error(`the response is larger than ${maxBytes} bytes`),
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw createError();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads a response as text. @throws Error if it has more than `maxBytes` */
export async function readText(response: HttpResponse, maxBytes: number): Promise<string> {
  return (await readBounded(getContent(response), maxBytes)).toString();
}
