import sharp from 'sharp';
import { pictureSvg } from './artwork.ts';
import type { ImageOrder } from './orders.ts';

/** Renders an image of exactly the size and format asked for. */
export async function renderImage(order: ImageOrder): Promise<Uint8Array> {
  const caption = `sample model · ${order.width} × ${order.height} · seed ${order.seed}`;
  const picture = sharp(Buffer.from(pictureSvg(order, caption))).removeAlpha();
  if (order.format === 'jpeg') return picture.jpeg({ quality: 88 }).toBuffer();
  if (order.format === 'webp') return picture.webp({ quality: 85, effort: 1 }).toBuffer();
  // Filtered rows of a gradient are nearly constant: the fastest deflate is small enough, and 4K stays quick.
  return picture.png({ compressionLevel: 2, adaptiveFiltering: true }).toBuffer();
}
