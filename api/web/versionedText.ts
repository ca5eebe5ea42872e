import { createHash } from 'node:crypto';

/** File of the pages with a hash of its content. Pages link to it by that hash, so browsers can cache it forever. */
export interface VersionedText {
  text: string;
  version: string;
}

export function createVersionedText(text: string): VersionedText {
  return { text, version: createHash('sha256').update(text).digest('hex').slice(0, 16) };
}
