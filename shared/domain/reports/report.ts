import { now } from '../../lib/clock.ts';

/** A report as data: the page and the CSV file show the same figures. */

export type Unit = 'count' | 'cents' | 'percent' | 'seconds';

/** A text column: what a row is about, or a detail of it. */
export interface Column {
  /** Name in the CSV file. */
  key: string;
  label: string;
}

export interface Measure extends Column {
  unit: Unit;
  /** Not compared with the previous period: the current state, or a row of a series. */
  isCompared?: false;
}

/** A text column beside the measures. */
export interface Detail extends Column {
  /** True if its texts are uuids of generations, which the page links. */
  isGeneration?: true;
}

/** A series over time. */
export interface ReportChart {
  title: string;
  unit: Unit;
  /** Start of each hour, day or week. */
  labels: readonly string[];
  /** Stacked. Each has a value for each label. */
  series: readonly { name: string; values: readonly number[] }[];
}

/** A figure with that of the previous period. null: unknown, such as a share of nothing. */
export interface Amount {
  value: number | null;
  previous: number | null;
}

export interface ReportRow {
  labels: readonly string[];
  /** One for each measure. */
  amounts: readonly Amount[];
  /** One for each detail column. */
  details?: readonly string[];
}

export interface ReportTable {
  /** Value of the `table` parameter of the CSV file. */
  key: string;
  title: string;
  /** Sentence that says what the rows count. */
  note: string;
  dimensions: readonly Column[];
  measures: readonly Measure[];
  details?: readonly Detail[];
  /** Shown above the rows. */
  charts?: readonly ReportChart[];
  rows: readonly ReportRow[];
  /** Computed from all rows together, so that its shares are right. */
  total?: ReportRow;
}

export interface ReportDefinition {
  /** Last part of its path. */
  slug: string;
  title: string;
  /** One sentence for the list of reports. */
  summary: string;
  /** Sentences that say what is counted, and how. */
  definition: readonly string[];
  defaultRange: 'last 30 days' | 'last 24 hours';
  build: (range: ReportRange) => Promise<readonly ReportTable[]>;
}

/** The time that a report covers, and the period of the same length before it. */
export interface ReportRange {
  since: Date;
  /** Not included. */
  until: Date;
  /** Start of the previous period, which ends where the range starts. */
  previousSince: Date;
  /** First and last day as YYYY-MM-DD; null for hours. */
  days: { from: string; to: string } | null;
  /** True if the range is not over. */
  includesNow: boolean;
}

/** A row of a query over the range and the period before it. */
export interface PeriodRow {
  is_current: boolean;
}

/** A measure with the rule that computes it from the rows of the range, or of the period before it. */
export interface ComputedMeasure<Row> extends Measure {
  compute: (rows: readonly Row[], isCurrent: boolean) => number | null;
}

/** The measure that adds up a column of the rows. */
export function measureSum<Key extends string>(
  key: Key,
  label: string,
  unit: Unit = 'count',
): ComputedMeasure<Record<Key, number>> {
  return { key, label, unit, compute: (rows) => Math.round(sumBy(rows, key)) };
}

/** Builds a table that groups rows of a query by their labels, with the row of all together. */
export function buildTable<Row extends PeriodRow>({
  rows,
  getLabels,
  ...table
}: Omit<ReportTable, 'measures' | 'rows' | 'total'> & {
  measures: readonly ComputedMeasure<Row>[];
  rows: readonly Row[];
  getLabels: (row: Row) => string[];
}): ReportTable {
  const labels = table.dimensions.map((_, index) => (index === 0 ? 'Total' : ''));
  const total = { labels, amounts: compareRows(rows, table.measures) };
  return { ...table, rows: groupRows(rows, getLabels, table.measures), total };
}

/**
 * Groups rows by their labels and computes the measures of each group. Groups with the largest first measure come
 * first.
 */
export function groupRows<Row extends PeriodRow>(
  rows: readonly Row[],
  getLabels: (row: Row) => string[],
  measures: readonly ComputedMeasure<Row>[],
): ReportRow[] {
  const groups = new Map<string, { labels: string[]; members: Row[] }>();
  for (const row of rows) {
    const labels = getLabels(row);
    const key = JSON.stringify(labels);
    const group = groups.get(key) ?? { labels, members: [] };
    group.members.push(row);
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ labels, members }) => ({ labels, amounts: compareRows(members, measures) }))
    .toSorted((a, b) => rank(b) - rank(a) || a.labels.join().localeCompare(b.labels.join()));
}

/** Computes measures for the rows of the range and for those of the period before it. */
export function compareRows<Row extends PeriodRow>(
  rows: readonly Row[],
  measures: readonly ComputedMeasure<Row>[],
): Amount[] {
  const [current, previous] = [selectPeriod(rows, true), selectPeriod(rows, false)];
  return measures.map(({ compute }) => ({ value: compute(current, true), previous: compute(previous, false) }));
}

export function selectPeriod<Row extends PeriodRow>(rows: readonly Row[], isCurrent: boolean): Row[] {
  return rows.filter((row) => row.is_current === isCurrent);
}

/** Wraps values that have no previous period. */
export function uncompared(...values: (number | null)[]): Amount[] {
  return values.map((value) => ({ value, previous: null }));
}

/** Seconds since a moment. */
export function ageSeconds(since: Date): number {
  return Math.max(0, Math.round((now().getTime() - since.getTime()) / 1_000));
}

/** Returns a share in percent with one decimal; null if there is nothing to share. */
export function percent(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((1_000 * part) / whole) / 10;
}

/** Adds up columns of rows. */
export function sumBy<Key extends string>(rows: readonly Record<Key, number>[], ...keys: Key[]): number {
  return rows.reduce((sum, row) => sum + keys.reduce((part, key) => part + row[key], 0), 0);
}

function rank({ amounts }: ReportRow): number {
  return amounts[0]?.value ?? 0;
}
