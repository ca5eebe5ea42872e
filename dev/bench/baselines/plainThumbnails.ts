import sharp from 'sharp';
import { serveParent } from '../childProcess.ts';

sharp.cache(false);
sharp.concurrency(1);

const handlers = {
  /** Makes thumbnails of the same size and quality by sharp's defaults, one after the other. */
  makeThumbnails: async (files: string[], repetitions: number): Promise<{ done: number; bytes: number }> => {
    let bytes = 0;
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      for (const file of files) {
        const picture = sharp(file).resize({ width: 512, height: 512, fit: 'inside' }).webp({ quality: 80 });
        bytes += (await picture.toBuffer()).length;
      }
    }
    const done = files.length * repetitions;
    return { done, bytes: bytes / done };
  },
};
export type PlainThumbnails = typeof handlers;

serveParent(handlers);
