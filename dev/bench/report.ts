import { rateAgainstTarget, TARGETS, type Target, type TargetName } from './targets.ts';

/** One figure: a ratio or a size, with the absolute values that it was computed from. */
export interface Measurement {
  /** The target that rates it; without one it is for information only. */
  target?: TargetName;
  title?: string;
  /** Null if this machine cannot measure it. */
  value: number | null;
  parts: Record<string, number | string>;
}

interface ReportRow {
  title: string;
  value: number | null;
  unit: string;
  reach: number | null;
  aim: number | null;
  verdict: string;
  parts: Measurement['parts'];
}

/** The measurements with their targets, for the table and the JSON. */
export function toReportRows(measurements: readonly Measurement[]): ReportRow[] {
  return measurements.map(({ target, title, value, parts }) => {
    const found: Target | undefined = target && TARGETS[target];
    return {
      title: title ?? found?.title ?? '',
      value: value === null ? null : Number(value.toPrecision(4)),
      unit: found?.unit ?? 'ratio',
      reach: found?.reach ?? null,
      aim: found?.aim ?? null,
      verdict: value === null ? 'n/a' : found === undefined ? 'info' : rateAgainstTarget(found, value),
      parts,
    };
  });
}

/** Columns that are aligned right. */
const NUMERIC_COLUMNS = new Set([1, 2, 3]);

/** Formats the rows as a text table. */
export function formatReportTable(rows: readonly ReportRow[]): string {
  const head = ['figure', 'value', 'required', 'goal', '', 'parts'];
  const lines = rows.map((row) => [
    row.title,
    row.value === null ? 'n/a' : formatValue(row.value, row.unit),
    row.reach === null ? '' : formatValue(row.reach, row.unit),
    row.aim === null ? '' : formatValue(row.aim, row.unit),
    row.verdict,
    Object.entries(row.parts)
      .map(([name, part]) => `${name} ${typeof part === 'number' ? formatPart(part) : part}`)
      .join(', '),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => (line[column] as string).length)));
  return [head, ...lines]
    .map((line) =>
      line
        .map((cell, column) =>
          NUMERIC_COLUMNS.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function formatValue(value: number, unit: string): string {
  if (unit === 'MB' || unit === 'ms') return `${Math.round(value)} ${unit}`;
  return unit === 'µs' ? `${value.toFixed(1)} µs` : value.toFixed(2);
}

function formatPart(part: number): string {
  return part >= 100 ? Math.round(part).toLocaleString('en-US') : String(Number(part.toPrecision(3)));
}

/** Formats the quantiles "p50 / p99 / p99.9". @param getQuantile returns the value below which a share (0 to 1) lies. */
export function formatQuantiles(getQuantile: (share: number) => number): string {
  return [0.5, 0.99, 0.999].map((share) => getQuantile(share).toPrecision(3)).join(' / ');
}
