import sharp, { type Sharp } from 'sharp';
import { type InputImage, loadImage } from './inputImages.ts';

/** Returns an image that fills a size, cut at its edges. */
export async function coverWithImage(image: InputImage, width: number, height: number): Promise<Sharp> {
  return sharp(await loadImage(image)).resize({ width, height, fit: 'cover' });
}

/** Width of an inset, as a part of the picture. */
const INSET_PART = 4;

/** Places images side by side at the upper edge of a picture. */
export async function drawInsets(
  picture: Sharp,
  images: readonly InputImage[],
  { width, height }: { width: number; height: number },
): Promise<Sharp> {
  if (images.length === 0) return picture;
  const side = Math.floor(Math.min(width, height) / INSET_PART);
  const insets = await Promise.all(
    images.map(async (image) => (await coverWithImage(image, side, side)).png().toBuffer()),
  );
  const overlays = insets.map((input, index) => ({ input, top: 0, left: Math.min(index * side, width - side) }));
  return sharp(await picture.png().toBuffer()).composite(overlays);
}
