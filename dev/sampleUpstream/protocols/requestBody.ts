import type { IncomingMessage } from 'node:http';
import type { RequestInput } from './inputValidation.ts';

const MAX_BODY_BYTES = 64 * 1024;
/** Forms contain images. */
const MAX_FORM_BYTES = 64 * 1024 * 1024;

/** A parsed body: its fields, or the problem. */
export type ParsedBody = { input: RequestInput } | { problem: 'too large' | 'unreadable' };

/** Parses a JSON body, or form fields if its content type is a form. */
export async function parseRequestBody(request: IncomingMessage): Promise<ParsedBody> {
  const type = request.headers['content-type'] ?? '';
  const isForm = type.startsWith('multipart/form-data');
  const bytes = await readLimitedBytes(request, isForm ? MAX_FORM_BYTES : MAX_BODY_BYTES);
  if (bytes === null) return { problem: 'too large' };
  const input = isForm ? await parseForm(bytes, type) : parseObject(bytes);
  return input === null ? { problem: 'unreadable' } : { input };
}

async function readLimitedBytes(request: IncomingMessage, limit: number): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) return null;
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

/** A file in a form. */
export interface FormFile {
  name: string;
  type: string;
  bytes: Uint8Array;
}

/** Parses a form. A field whose name ends in `[]` is a list under the name before that. */
async function parseForm(bytes: Buffer<ArrayBuffer>, type: string): Promise<RequestInput | null> {
  try {
    const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
    const input: RequestInput = {};
    for (const name of new Set(form.keys())) {
      const values = await Promise.all(form.getAll(name).map(toFormValue));
      input[name.replace(/\[\]$/, '')] = name.endsWith('[]') ? values : values.at(-1);
    }
    return input;
  } catch {
    return null;
  }
}

async function toFormValue(value: FormDataEntryValue): Promise<string | FormFile> {
  if (typeof value === 'string') return value;
  return { name: value.name, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) };
}

/** Returns true if a value is an object with fields. */
export function isObject(value: unknown): value is RequestInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
