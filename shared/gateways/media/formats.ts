import { open } from 'node:fs/promises';
import type { ModelKind } from '../../spec/catalog.ts';
import { InvalidOutputError } from './download.ts';

/** Number of first bytes that the detection needs. */
const HEAD_BYTES = 16;

interface Format {
  kind: ModelKind;
  /** File name extension, without the dot. */
  extension: string;
  contentType: string;
  matches(head: Buffer): boolean;
}

const hasText = (text: string, at: number) => (head: Buffer) => head.toString('latin1', at, at + text.length) === text;

const FORMATS: Format[] = [
  { kind: 'image', extension: 'png', contentType: 'image/png', matches: hasText('\x89PNG\r\n\x1a\n', 0) },
  { kind: 'image', extension: 'jpg', contentType: 'image/jpeg', matches: hasText('\xff\xd8\xff', 0) },
  {
    kind: 'image',
    extension: 'webp',
    contentType: 'image/webp',
    matches: (head) => hasText('RIFF', 0)(head) && hasText('WEBP', 8)(head),
  },
  { kind: 'video', extension: 'mp4', contentType: 'video/mp4', matches: hasText('ftyp', 4) },
  { kind: 'video', extension: 'webm', contentType: 'video/webm', matches: hasText('\x1a\x45\xdf\xa3', 0) },
];

/**
 * Detects the format of a file by its first bytes, whatever its sender called it.
 * @throws InvalidOutputError if it is not of the requested kind.
 */
export function sniffFormat(head: Buffer, kind: ModelKind): Format {
  const found = FORMATS.find((format) => format.kind === kind && format.matches(head));
  if (found === undefined)
    throw new InvalidOutputError(`The output is not ${kind === 'image' ? 'an image' : 'a video'}.`);
  return found;
}

/** Reads the first bytes of a local file. */
export async function readHead(localFile: string): Promise<Buffer> {
  const file = await open(localFile);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
