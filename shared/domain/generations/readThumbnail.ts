import { buffer } from 'node:stream/consumers';
import { getMediaStore } from '../../gateways/media/configuredStore.ts';
import type { Generation } from '../../tables/Generation.ts';

/** Thumbnails have some ten kilobytes. */
const THUMBNAIL_MAX_BYTES = 256 * 1024;

/**
 * Reads the thumbnail of a generation from the media store. Null if it has none, or if it was deleted meanwhile.
 * @throws Error if the store is unavailable.
 */
export async function readThumbnail({ thumbnail_path: path }: Generation): Promise<Buffer | null> {
  const content = path === null ? null : await getMediaStore().openFile(path, THUMBNAIL_MAX_BYTES);
  return content === null ? null : buffer(content);
}
