import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

/** Shared by all fakes: misbehavior on demand, and sample outputs. */

/** Misbehavior of a fake for one kind of request. A number is a status. */
export type Misbehaviour = 'hang' | 'garbage' | 'error' | 'drop' | 'busy' | 'lose' | number;

/** A response that replaces the one of a fake. */
export interface VerbatimResponse {
  status: number;
  headers?: Record<string, string>;
  /** A string is sent as it is, a stream in its chunks, any other value as JSON. */
  body?: unknown;
}

export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** The first box of an MP4, which is enough to be detected as one. */
export const MP4 = Buffer.from('000000206674797069736f6d0000020069736f6d69736f326176633169736f366d703431', 'hex');

/** Misbehaves if set. @returns true if the request was handled: it has a response, or will never have one. */
export function misbehave(
  misbehaviour: string | number | VerbatimResponse | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (typeof misbehaviour === 'number') {
    sendJson(response, misbehaviour, { detail: `configured to respond with ${misbehaviour}` });
    return true;
  }
  if (typeof misbehaviour === 'object') {
    const { status, headers, body } = misbehaviour;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    if (body instanceof Readable) body.pipe(response);
    else response.end(typeof body === 'string' ? body : JSON.stringify(body));
    return true;
  }
  switch (misbehaviour) {
    case 'hang':
      return true;
    case 'drop':
      request.socket.destroy();
      return true;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome to nginx!</html>');
      return true;
    case 'error':
      sendJson(response, 500, { detail: 'Internal Server Error' });
      return true;
    case 'busy':
      sendJson(response, 429, { detail: 'Too many requests' });
      return true;
    default:
      return false;
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export async function readTextBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
