import type { VNode } from 'preact';
import type { Plan } from '../../../shared/spec/plans.ts';
import { t } from '../texts.ts';
import { formatUsd } from './formatAmount.ts';

export function PlanPrice({ plan }: { plan: Plan }): VNode {
  return (
    <p>
      {t.priceAMonth({
        price: formatUsd(plan.priceMonthlyCents),
        figure: (price) => <span class="figure">{price}</span>,
      })}
      <span class="hint">{t.billedYearly({ price: formatUsd(plan.priceYearlyCents) })}</span>
    </p>
  );
}
