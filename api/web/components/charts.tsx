import type { VNode } from 'preact';

export interface Bar {
  /** Name of the bar, shown with its value as a tooltip. */
  label: string;
  value: number;
}

const WIDTH = 340;
const HEIGHT = 150;
const MARGIN_TOP = 18;
const MARGIN_BOTTOM = 20;
const BAR_GAP = 2;

interface BarChartProps {
  /** Accessible name of the chart. */
  title: string;
  bars: Bar[];
  format: (value: number) => string;
  kind?: 'second';
  /** Says that the last bar is of a day that is not over. */
  isLastPartial?: boolean;
  /** Shown instead of a chart whose values are all zero. */
  empty?: string;
}

/** Vertical bar chart with the maximum above, and the first and last label below. */
export function BarChart({ title, bars, format, kind, isLastPartial = false, empty }: BarChartProps): VNode {
  if (empty !== undefined && bars.every(({ value }) => value === 0)) return <p>{empty}</p>;
  const largest = Math.max(...bars.map(({ value }) => value), 0);
  const step = WIDTH / bars.length;
  const plotHeight = HEIGHT - MARGIN_TOP - MARGIN_BOTTOM;
  const baseline = HEIGHT - MARGIN_BOTTOM;
  return (
    <>
      <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={title}>
        <text x="0" y="11">
          {`max: ${format(largest)}`}
        </text>
        {bars.map(({ label, value }, index) => {
          const height = largest === 0 ? 0 : (plotHeight * Math.max(0, value)) / largest;
          // Keeps small values visible.
          const shown = value > 0 ? Math.max(1.5, height) : 0;
          return (
            <rect
              key={label}
              class={isLastPartial && index === bars.length - 1 ? [kind, 'partial'].join(' ').trim() : kind}
              x={round(index * step)}
              y={round(baseline - shown)}
              width={round(step - BAR_GAP)}
              height={round(shown)}
              rx="1"
            >
              <title>{`${label}: ${format(value)}`}</title>
            </rect>
          );
        })}
        <line x1="0" y1={baseline} x2={WIDTH} y2={baseline} />
        <text x="0" y={HEIGHT - 5}>
          {bars[0]?.label}
        </text>
        <text x={WIDTH} y={HEIGHT - 5} text-anchor="end">
          {isLastPartial ? `${bars.at(-1)?.label}, so far` : bars.at(-1)?.label}
        </text>
      </svg>
      <ChartTable title={title} bars={bars} format={format} isLastPartial={isLastPartial} />
    </>
  );
}

interface HorizontalBarChartProps {
  title: string;
  /** `badge` is shown next to the label. */
  levels: (Bar & { isBad?: boolean; badge?: string | undefined })[];
  format: (value: number) => string;
}

const ROW_HEIGHT = 26;
const LABEL_WIDTH = 122;
const VALUE_WIDTH = 70;
const BADGE_WIDTH = 44;

/** Horizontal bar chart with the label and value of each bar. */
export function HorizontalBarChart({ title, levels, format }: HorizontalBarChartProps): VNode {
  const largest = Math.max(...levels.map(({ value }) => value), 0);
  const plotWidth = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
  return (
    <>
      <svg class="chart" viewBox={`0 0 ${WIDTH} ${ROW_HEIGHT * levels.length}`} role="img" aria-label={title}>
        {levels.map(({ label, value, isBad = false, badge }, index) => (
          <g key={label}>
            <text x="0" y={index * ROW_HEIGHT + 17}>
              {label}
            </text>
            {badge === undefined ? null : (
              <g class="badge">
                <rect
                  x={LABEL_WIDTH - BADGE_WIDTH - 4}
                  y={index * ROW_HEIGHT + 5}
                  width={BADGE_WIDTH}
                  height="16"
                  rx="8"
                />
                <text x={LABEL_WIDTH - BADGE_WIDTH / 2 - 4} y={index * ROW_HEIGHT + 16.5} text-anchor="middle">
                  {badge}
                </text>
              </g>
            )}
            <rect class="back" x={LABEL_WIDTH} y={index * ROW_HEIGHT + 6} width={plotWidth} height="14" rx="2" />
            <rect
              class={isBad ? 'bad' : undefined}
              x={LABEL_WIDTH}
              y={index * ROW_HEIGHT + 6}
              width={round(largest === 0 ? 0 : (plotWidth * Math.max(0, value)) / largest)}
              height="14"
              rx="2"
            />
            <text x={WIDTH} y={index * ROW_HEIGHT + 17} text-anchor="end">
              {format(value)}
            </text>
          </g>
        ))}
      </svg>
      <ChartTable title={title} bars={levels} format={format} />
    </>
  );
}

type ChartTableProps = Pick<BarChartProps, 'title' | 'bars' | 'format' | 'isLastPartial'>;

/** Values of a chart as a table, for screen readers and exact numbers. */
function ChartTable({ title, bars, format, isLastPartial = false }: ChartTableProps): VNode {
  return (
    <details class="figures">
      <summary>
        Show as a table<span class="unseen">: {title}</span>
      </summary>
      {/* Focusable, so that it can be scrolled with the keyboard. */}
      <div class="scrolls" tabIndex={0} role="group" aria-label={title}>
        <table>
          <caption class={isLastPartial ? 'quiet small' : 'unseen'}>
            {isLastPartial ? 'The last day is not over.' : title}
          </caption>
          <tbody>
            {bars.map(({ label, value }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td class="number">{format(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
