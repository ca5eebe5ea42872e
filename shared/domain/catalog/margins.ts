import { computeMargins } from '../../gateways/upstreams/margins.ts';
import { logger } from '../../lib/logger.ts';
import { modelMarginRatio } from '../../lib/metrics.ts';

/** Exports the margin of each model, and warns about those that lose money at the rate of the cheapest plan. */
export function reportMargins(): void {
  modelMarginRatio.reset();
  for (const { model, ratio, params, revenueCents, costCents } of computeMargins()) {
    modelMarginRatio.set({ model }, ratio);
    if (ratio < 0)
      logger.warn(
        { model, params, revenueCents: Math.round(revenueCents * 100) / 100, costCents },
        'model loses money at the rate of the cheapest plan',
      );
  }
}
