import sharp from 'sharp';
import { renderPictureSvg } from './artwork.ts';
import { drawInsets } from './drawImages.ts';
import type { ImageRequest } from './renderRequests.ts';

/** Renders an image of exactly the requested size and format, with the images of the request at its upper edge. */
export async function renderImage(request: ImageRequest): Promise<Uint8Array> {
  const caption = `sample model · ${request.width} × ${request.height} · seed ${request.seed}`;
  const drawn = sharp(Buffer.from(renderPictureSvg(request, caption))).removeAlpha();
  const { first, last, references } = request.images ?? { references: [] };
  const images = [first, ...references, last].filter((image) => image !== undefined);
  const picture = await drawInsets(drawn, images, request);
  if (request.format === 'jpeg') return picture.jpeg({ quality: 88 }).toBuffer();
  if (request.format === 'webp') return picture.webp({ quality: 85, effort: 1 }).toBuffer();
  // Filtered rows of a gradient are nearly constant: the fastest deflate is small enough, and 4K stays quick.
  return picture.png({ compressionLevel: 2, adaptiveFiltering: true }).toBuffer();
}
