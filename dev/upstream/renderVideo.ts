import sharp from 'sharp';
import h264 from 'h264-mp4-encoder';
import { landscapeSvg, letteringSvg } from './artwork.ts';
import { drawOver, panOver, planesOf, readLettering } from './frames.ts';
import type { VideoOrder } from './orders.ts';
import { muxFilm } from './muxFilm.ts';

/** Frames a second: few, since every one costs rendering time. */
export const FRAME_RATE = 12;

/** Renders an H.264 film, with AAC sound if asked for: a slow pan over the picture, the lettering standing still. */
export async function renderVideo(order: VideoOrder): Promise<Uint8Array> {
  const { width, height, durationSeconds } = order;
  const caption = `sample model · ${width} × ${height} · ${durationSeconds} s · ${order.hasSound ? 'sound' : 'silent'} · seed ${order.seed}`;
  const landscape = planesOf(await pixelsOf(landscapeSvg(order)), width, height);
  const lettering = readLettering(await pixelsOf(letteringSvg(order, caption)), width, height);
  const frameCount = durationSeconds * FRAME_RATE;
  // Even, because a colour sample spans two pixels.
  const step = 2 * Math.max(1, Math.round(width / 480));
  const frame = new Uint8Array((width * height * 3) / 2);

  const encoder = await h264.createH264MP4Encoder();
  try {
    Object.assign(encoder, { width, height, frameRate: FRAME_RATE, speed: 10, groupOfPictures: FRAME_RATE * 2 });
    encoder.quantizationParameter = 28;
    encoder.initialize();
    for (let index = 0; index < frameCount; index += 1) {
      panOver(frame, landscape, (index * step) % width);
      drawOver(frame, lettering, (index + 1) / frameCount);
      encoder.addFrameYuv(frame);
    }
    encoder.finalize();
    const silent = encoder.FS.readFile(encoder.outputFilename);
    encoder.FS.unlink(encoder.outputFilename);
    return await muxFilm(silent, order, FRAME_RATE);
  } finally {
    encoder.delete();
  }
}

async function pixelsOf(svg: string): Promise<Uint8Array> {
  return sharp(Buffer.from(svg)).ensureAlpha().raw().toBuffer();
}
