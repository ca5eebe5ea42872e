import { makeThumbnail } from '../../../shared/gateways/media/thumbnail.ts';
import { serveParent } from '../childProcess.ts';

/** The service's own thumbnails, made by its child process. */
serveParent({
  /** Makes a thumbnail of each file, again and again. @returns their number and average size in bytes. */
  render: async (files: string[], repetitions: number) => {
    let bytes = 0;
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      const thumbnails = await Promise.all(files.map((filePath) => makeThumbnail({ kind: 'image', filePath })));
      bytes += thumbnails.reduce((sum, { length }) => sum + length, 0);
    }
    const count = files.length * repetitions;
    return { count, bytes: bytes / count };
  },
});
