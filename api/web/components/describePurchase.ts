import { getOfferedModels } from '../../../shared/lib/catalog/catalog.ts';
import type { ModelKind } from '../../../shared/spec/catalog.ts';
import { t } from '../texts.ts';

/** Says what credits buy at the lowest price of each kind: "up to 25 images or 5 videos". Empty if they buy nothing. */
export function describePurchase(credits: number): string {
  const count = (kind: ModelKind) => {
    const prices = getOfferedModels().filter((model) => model.kind === kind);
    return Math.floor(credits / Math.min(...prices.map(({ creditsBase }) => creditsBase)));
  };
  const [images, videos] = [count('image'), count('video')];
  if (images > 0 && videos > 0) return t.imagesAndVideos({ images, videos });
  if (images > 0) return t.onlyImages({ images });
  return videos > 0 ? t.onlyVideos({ videos }) : '';
}
