import type { Dispatcher } from 'undici';

/**
 * Reads a response.
 * @throws the error of `createError` if it has more than `maxBytes`; the connection is closed then.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  createError = () => new Error(`the response is larger than ${maxBytes} bytes`),
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw createError();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads a response as text. @throws Error if it has more than `maxBytes` */
export async function readBoundedText(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<string> {
  return (await readBounded(body as AsyncIterable<Uint8Array>, maxBytes)).toString();
}

/** Parses JSON. @returns undefined if the text is something else. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
