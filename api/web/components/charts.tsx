import { max, sum } from 'd3-array';
import { scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import type { VNode } from 'preact';
import { t } from '../texts.ts';
import { formatDay } from './formatTime.ts';

interface Bar {
  /** Name of the bar, shown with its value: a day as YYYY-MM-DD is written as a date. */
  label: string;
  value: number;
}

/** Values that are stacked on those of the series before it, one for each label. */
interface Series {
  name: string;
  values: readonly number[];
}

interface ChartProps {
  /** Accessible name of the chart. */
  title: string;
  format: (value: number) => string;
  /** Says that the last bar is of a day that is not over. */
  isLastPartial?: boolean;
  /** Shown instead of a chart whose values are all zero. */
  empty?: string;
}

/** The plot is drawn in these units, and stretched to the width of the page. Texts are not part of it. */
const PLOT_HEIGHT = 100;
const BAR_STEP = 10;
const BAR_WIDTH = 7;
const GRID_LINES = 3;
/** Labels below a chart; more do not fit on a phone. */
const LABELS_MAX = 5;

/** Vertical bar chart of one series. */
export function BarChart({ bars, kind, ...props }: ChartProps & { bars: readonly Bar[]; kind?: 'second' }): VNode {
  const labels = bars.map(({ label }) => label);
  const series = [{ name: props.title, values: bars.map(({ value }) => value) }];
  return <StackedBarChart {...props} labels={labels} series={series} kind={kind} />;
}

interface StackedBarChartProps extends ChartProps {
  labels: readonly string[];
  series: readonly Series[];
  kind?: 'second' | undefined;
}

/**
 * Vertical bar chart with an axis, a line at each of its values, and the values of a bar beside the pointer. A list of
 * all values follows, for the keyboard and for exact figures.
 */
export function StackedBarChart({
  title,
  labels,
  series,
  format,
  kind,
  isLastPartial,
  empty,
}: StackedBarChartProps): VNode {
  const totals = labels.map((_, index) => sum(series, ({ values }) => values[index] ?? 0));
  if (empty !== undefined && totals.every((total) => total === 0)) return <p>{empty}</p>;
  const scale = scaleLinear([0, Math.max(1, max(totals) ?? 0)], [0, PLOT_HEIGHT]).nice(GRID_LINES);
  const ticks = scale.ticks(GRID_LINES).filter((tick) => Number.isInteger(tick));
  const names = labels.map((label, index) => describeBar(label, isLastPartial === true && index === labels.length - 1));
  const layers = stack<number, number>()
    .keys(series.keys())
    .value((index, layer) => Math.max(0, series[layer]?.values[index] ?? 0))([...labels.keys()]);
  return (
    <figure class="plot">
      {series.length > 1 ? <Legend series={series} /> : null}
      <div class="ticks" aria-hidden="true">
        {ticks.toReversed().map((tick) => (
          <span>{format(tick)}</span>
        ))}
      </div>
      <div class="bars">
        <svg
          role="img"
          aria-label={title}
          viewBox={`0 0 ${labels.length * BAR_STEP} ${PLOT_HEIGHT}`}
          preserveAspectRatio="none"
        >
          {ticks.map((tick) => (
            <line x1="0" x2={labels.length * BAR_STEP} y1={PLOT_HEIGHT - scale(tick)} y2={PLOT_HEIGHT - scale(tick)} />
          ))}
          {layers.map((layer) =>
            layer.map(([from, to], index) =>
              to <= from ? null : (
                <rect
                  class={getBarClass(kind, layer.index, isLastPartial === true && index === labels.length - 1)}
                  x={index * BAR_STEP + (BAR_STEP - BAR_WIDTH) / 2}
                  y={round(PLOT_HEIGHT - scale(to))}
                  width={BAR_WIDTH}
                  height={round(Math.max(1, scale(to) - scale(from)))}
                />
              ),
            ),
          )}
        </svg>
        <div class="tips" aria-hidden="true">
          {names.map((name, index) => (
            <span tabIndex={-1}>
              <span class="tip">
                {name}: {format(totals[index] ?? 0)}
              </span>
            </span>
          ))}
        </div>
      </div>
      <div class="dates" aria-hidden="true">
        {chooseLabels(names).map((name) => (
          <span>{name}</span>
        ))}
      </div>
      <ChartTable
        title={title}
        bars={names.map((label, index) => ({ label, value: totals[index] ?? 0 }))}
        format={format}
      />
    </figure>
  );
}

function Legend({ series }: { series: readonly Series[] }): VNode {
  return (
    <ul class="legend">
      {series.map(({ name }, index) => (
        <li>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect class={getBarClass(undefined, index, false)} width="10" height="10" rx="2" />
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}

/** Series differ by a color each, up to four. */
function getBarClass(kind: string | undefined, layer: number, isPartial: boolean): string {
  return [kind ?? `series-${layer % 4}`, ...(isPartial ? ['partial'] : [])].join(' ');
}

function describeBar(label: string, isPartial: boolean): string {
  const name = /^\d{4}-\d\d-\d\d$/.test(label) ? formatDay(new Date(label)) : label;
  return isPartial ? t.soFar({ day: name }) : name;
}

/** Chooses the first and the last label, and some at even distances between them. */
function chooseLabels(labels: readonly string[]): string[] {
  if (labels.length <= LABELS_MAX) return [...labels];
  const step = (labels.length - 1) / (LABELS_MAX - 1);
  return Array.from({ length: LABELS_MAX }, (_, index) => labels[Math.round(index * step)] as string);
}

const WIDTH = 340;

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

type ChartTableProps = Pick<ChartProps, 'title' | 'format'> & { bars: readonly Bar[] };

/** Values of a chart as a table, for screen readers and exact numbers. */
function ChartTable({ title, bars, format }: ChartTableProps): VNode {
  return (
    <details class="figures">
      <summary>{t.showAsTable({ title })}</summary>
      {/* Focusable, so that it can be scrolled with the keyboard. */}
      <div class="scrolls" tabIndex={0} role="group" aria-label={title}>
        <table>
          <caption class="unseen">{title}</caption>
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
