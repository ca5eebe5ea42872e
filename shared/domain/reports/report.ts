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

/**
 * Groups rows by their labels and computes the measures of each group, for the range and the period before it. Groups
 * with the largest first measure come first.
 */
export function groupRows<Row extends PeriodRow>(
  rows: readonly Row[],
  getLabels: (row: Row) => string[],
  compute: (rows: Row[]) => (number | null)[],
): ReportRow[] {
  const groups = new Map<string, { labels: string[]; rows: Row[] }>();
  for (const row of rows) {
    const labels = getLabels(row);
    const key = JSON.stringify(labels);
    const group = groups.get(key) ?? { labels, rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ labels, rows: members }) => ({ labels, amounts: compareRows(members, compute) }))
    .toSorted((a, b) => rank(b) - rank(a) || a.labels.join().localeCompare(b.labels.join()));
}

/** Builds the row of all rows together. */
export function totalRow<Row extends PeriodRow>(
  rows: readonly Row[],
  dimensionCount: number,
  compute: (rows: Row[]) => (number | null)[],
): ReportRow {
  const blanks = Array.from({ length: dimensionCount - 1 }, () => '');
  return { labels: ['Total', ...blanks], amounts: compareRows(rows, compute) };
}

/** Computes measures for the rows of the range and for those of the period before it. */
export function compareRows<Row extends PeriodRow>(
  rows: readonly Row[],
  compute: (rows: Row[]) => (number | null)[],
): Amount[] {
  const previous = compute(rows.filter((row) => !row.is_current));
  return compute(rows.filter((row) => row.is_current)).map((value, index) => ({
    value,
    previous: previous[index] ?? null,
  }));
}

/** Wraps values that have no previous period. */
export function uncompared(...values: (number | null)[]): Amount[] {
  return values.map((value) => ({ value, previous: null }));
}

/** Returns a share in percent with one decimal; null if there is nothing to share. */
export function percent(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((1_000 * part) / whole) / 10;
}

export function sumBy<Row>(rows: readonly Row[], pick: (row: Row) => number): number {
  return rows.reduce((sum, row) => sum + pick(row), 0);
}

function rank({ amounts }: ReportRow): number {
  return amounts[0]?.value ?? 0;
}
