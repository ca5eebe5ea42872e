import type { VNode } from 'preact';
import type { Plan } from '../../../shared/spec/plans.ts';
import { formatUsd } from './formatAmount.ts';

export function PlanPrice({ plan }: { plan: Plan }): VNode {
  return (
    <p>
      <span class="figure">{formatUsd(plan.priceMonthlyCents)}</span> a month
      <span class="hint">{formatUsd(plan.priceYearlyCents)}, billed yearly</span>
    </p>
  );
}
