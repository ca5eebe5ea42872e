import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeImage } from '../../shared/gateways/media/inputImages.ts';
import { stopThumbnailProcess } from '../../shared/gateways/media/thumbnail.ts';

/** Decodes input images in a folder that the suite has while its tests run. */
export function createImageDecoder() {
  let folder = '';
  let files = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genmeter-input-'));
  });
  after(async () => {
    stopThumbnailProcess();
    await rm(folder, { recursive: true });
  });
  return {
    getPath: (name: string) => join(folder, name),
    decode: async (content: Uint8Array) => {
      files += 1;
      const source = join(folder, `${files}`);
      await writeFile(source, content);
      return decodeImage(source, `${source}.decoded`, 1);
    },
  };
}
