import type { VNode } from 'preact';
import type { UsageByDay } from '../../../../../shared/domain/usage/usageByDay.ts';
import { StackedBarChart } from '../../../../web/components/charts.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { t } from '../texts.ts';

interface UsageChartProps {
  title: string;
  usage: UsageByDay;
  unit: 'credits' | 'generations';
  empty: string;
}

/** Colors of a chart. */
const SERIES_MAX = 4;

/** Credits or generations by day, stacked by model. Models beyond the colors of the chart are one part of it. */
export function UsageChart({ title, usage: { days, models }, unit, empty }: UsageChartProps): VNode {
  const all = models.map(({ name, days: sums }) => ({ name, values: sums.map((sum) => sum[unit]) }));
  const rest = all.length > SERIES_MAX ? all.splice(SERIES_MAX - 1) : [];
  const others = days.map((_, index) => rest.reduce((total, { values }) => total + (values[index] ?? 0), 0));
  return (
    <StackedBarChart
      title={title}
      labels={days}
      series={rest.length === 0 ? all : [...all, { name: t.otherModels(), values: others }]}
      format={formatNumber}
      isLastPartial
      empty={empty}
    />
  );
}
