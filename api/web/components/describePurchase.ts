import { getOfferedModels } from '../../../shared/lib/catalog/catalog.ts';
import { MODEL_KINDS } from '../../../shared/spec/catalog.ts';
import { formatCount } from './formatAmount.ts';

/** Says what credits buy at the lowest price of each kind: "up to 25 images or 5 videos". Empty if they buy nothing. */
export function describePurchase(credits: number): string {
  const models = getOfferedModels();
  const counts = MODEL_KINDS.toReversed().map((kind) => {
    const prices = models.filter((model) => model.kind === kind).map(({ creditsBase }) => creditsBase);
    return [kind, Math.floor(credits / Math.min(...prices))] as const;
  });
  const parts = counts.filter(([, count]) => count > 0).map(([kind, count]) => formatCount(count, kind));
  return parts.length === 0 ? '' : `up to ${parts.join(' or ')}`;
}
