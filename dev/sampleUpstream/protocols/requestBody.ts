import type { IncomingMessage } from 'node:http';
import type { RequestInput } from './inputValidation.ts';

const MAX_BODY_BYTES = 64 * 1024;

/** A parsed body: its fields, or the problem. */
export type ParsedBody = { input: RequestInput } | { problem: 'too large' | 'unreadable' };

/** Parses a JSON body, or form fields if its content type is a form. */
export async function parseRequestBody(request: IncomingMessage): Promise<ParsedBody> {
  const bytes = await readLimitedBytes(request);
  if (bytes === null) return { problem: 'too large' };
  const type = request.headers['content-type'] ?? '';
  const input = type.startsWith('multipart/form-data') ? await parseForm(bytes, type) : parseObject(bytes);
  return input === null ? { problem: 'unreadable' } : { input };
}

async function readLimitedBytes(request: IncomingMessage): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseObject(bytes: Buffer): RequestInput | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

async function parseForm(bytes: Buffer<ArrayBuffer>, type: string): Promise<RequestInput | null> {
  try {
    return Object.fromEntries(await new Response(bytes, { headers: { 'content-type': type } }).formData());
  } catch {
    return null;
  }
}

/** Returns true if a value is an object with fields. */
export function isObject(value: unknown): value is RequestInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
