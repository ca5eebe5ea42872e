import type { Dispatcher } from 'undici';

/**
 * Reads a response as text.
 * @throws Error if it has more than `maxBytes`; the connection is closed then.
 */
export async function readBoundedText(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`the response is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Parses JSON. @returns undefined if the text is something else. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
