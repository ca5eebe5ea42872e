import sharp, { type Sharp } from 'sharp';
import h264 from 'h264-mp4-encoder';
import { renderLandscapeSvg, renderLetteringSvg } from './artwork.ts';
import { type ColorPlanes, drawLettering, drawPannedFrame, toPlanes, prepareLettering } from './frames.ts';
import { coverWithImage } from './drawImages.ts';
import type { VideoRequest } from './renderRequests.ts';
import { muxVideo } from './muxVideo.ts';

/** Frames per second: few, since every one costs rendering time. */
export const FRAME_RATE = 12;

/**
 * Renders an H.264 film, with AAC sound if requested: a slow pan over the picture, with fixed lettering. An image of
 * the request replaces the picture; the one for the last frame does so in the second half.
 */
export async function renderVideo(request: VideoRequest): Promise<Uint8Array> {
  const { width, height, durationSeconds } = request;
  const caption = `sample model · ${width} × ${height} · ${durationSeconds} s · ${request.hasSound ? 'sound' : 'silent'} · seed ${request.seed}`;
  const { first, last, references } = request.images ?? { references: [] };
  const scenes = [first ?? references[0], last].filter((image) => image !== undefined);
  const pictures = await Promise.all(scenes.map((image) => coverWithImage(image, width, height)));
  if (pictures.length === 0) pictures.push(sharp(Buffer.from(renderLandscapeSvg(request))));
  const landscapes = await Promise.all(
    pictures.map(async (picture) => toPlanes(await renderPixels(picture), width, height)),
  );
  const lettering = prepareLettering(
    await renderPixels(sharp(Buffer.from(renderLetteringSvg(request, caption)))),
    width,
    height,
  );
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
      const landscape = landscapes[Math.floor((index * landscapes.length) / frameCount)] as ColorPlanes;
      drawPannedFrame(frame, landscape, (index * step) % width);
      drawLettering(frame, lettering, (index + 1) / frameCount);
      encoder.addFrameYuv(frame);
    }
    encoder.finalize();
    const silent = encoder.FS.readFile(encoder.outputFilename);
    encoder.FS.unlink(encoder.outputFilename);
    return await muxVideo(silent, request, FRAME_RATE);
  } finally {
    encoder.delete();
  }
}

async function renderPixels(picture: Sharp): Promise<Uint8Array> {
  return picture.toColourspace('srgb').ensureAlpha().raw().toBuffer();
}
