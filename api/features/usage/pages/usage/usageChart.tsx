import type { VNode } from 'preact';
import type { UsageByDay } from '../../../../../shared/domain/usage/usageByDay.ts';
import { StackedBarChart } from '../../../../web/components/charts.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';

interface UsageChartProps {
  title: string;
  usage: UsageByDay;
  unit: 'credits' | 'generations';
  empty: string;
}

/** Credits or generations by day, stacked by model. */
export function UsageChart({ title, usage: { days, models }, unit, empty }: UsageChartProps): VNode {
  return (
    <StackedBarChart
      title={title}
      labels={days}
      series={models.map(({ name, days: sums }) => ({ name, values: sums.map((sum) => sum[unit]) }))}
      format={formatNumber}
      isLastPartial
      empty={empty}
    />
  );
}
