import { median, quantile } from '../local/statistics.ts';

/**
 * Numbers that one round measured. The name of each ends with its unit, such as `per second` or `api µs`. An array
 * holds the times of single requests in milliseconds, and is reported by its quantiles.
 */
export type Round = Readonly<Record<string, number | number[]>>;

/** A number that the bench reports: the ratio of the service to a baseline, both measured in alternating rounds. */
export interface Figure {
  name: string;
  /** Measures a round of the service. */
  ours: () => Promise<Round>;
  /** Measures a round of the baseline. Without it, the figure is the number itself, measured once. */
  bare?: () => Promise<Round>;
  /** Required value and goal. Without them the figure is for information. */
  target?: readonly [required: number, goal: number];
  /** Name of the number that counts. Default: `per second`, of which more is better; of all others less is. */
  by?: string;
  /** Default: that of the options. */
  rounds?: number;
  /** True if earlier work has warmed up both sides. Otherwise the first round of each does not count. */
  isWarm?: boolean;
  /** Takes the quantiles of the times of all rounds together: one round has too few above its p99. */
  isPooled?: boolean;
  /** Reports the ratios of all numbers, each in a row of its own. */
  isDetailed?: boolean;
}

/** A figure as it is printed, with the medians of the rounds. */
export interface Row {
  name: string;
  /** Null if this machine cannot measure it. */
  value: number | null;
  unit: string;
  required: number | null;
  goal: number | null;
  verdict: 'goal' | 'ok' | 'missed' | 'info' | 'n/a';
  ours: Record<string, number>;
  bare: Record<string, number>;
  /** The ratio of each round. */
  rounds: number[];
}

/** The figures of a measurement, which receives the row of each one when it has been measured. */
export type Figures = AsyncGenerator<Figure, void, Row>;

/**
 * Measures A B A B …, so that other load on the machine affects both sides alike.
 * @returns the row of the figure, and those of its details.
 */
export async function measureFigure(figure: Figure, defaultRounds: number): Promise<[Row, ...Row[]]> {
  const { ours, bare, by = 'per second', rounds = defaultRounds } = figure;
  if (bare === undefined) return [buildRow(figure, by, [summarize([await ours()])], [])];
  if (figure.isWarm !== true) {
    await ours();
    await bare();
  }
  const measured: { ours: Round[]; bare: Round[] } = { ours: [], bare: [] };
  for (let round = 0; round < rounds; round += 1) {
    measured.ours.push(await ours());
    measured.bare.push(await bare());
  }
  const toNumbers = (of: Round[]) =>
    figure.isPooled === true ? [summarize(of)] : of.map((round) => summarize([round]));
  const [a, b] = [toNumbers(measured.ours), toNumbers(measured.bare)];
  const names = figure.isDetailed === true ? Object.keys(a[0] ?? {}) : [];
  const details = names
    .filter((name) => ![by, 'done'].includes(name))
    .map((name) => {
      const detail = { name: `${figure.name}: ${name}`, ours };
      return buildRow(detail, name, pickNumber(a, name), pickNumber(b, name));
    });
  return [buildRow(figure, by, a, b), ...details];
}

function pickNumber(rounds: Record<string, number>[], name: string): Record<string, number>[] {
  return rounds.map((round) => ({ [name]: round[name] as number }));
}

/** Converts rounds into numbers: arrays into their quantiles, others into their median. */
function summarize(rounds: readonly Round[]): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const [name, first] of Object.entries(rounds[0] ?? {})) {
    const values = rounds.flatMap((round) => round[name] ?? []);
    if (!Array.isArray(first)) numbers[name] = median(values);
    else for (const percent of [50, 99, 99.9]) numbers[`p${percent} ${name}`] = quantile(values, percent / 100);
  }
  return numbers;
}

function buildRow(figure: Figure, by: string, a: Record<string, number>[], b: Record<string, number>[]): Row {
  const ratios = b.map((bare, round) => (a[round]?.[by] ?? Number.NaN) / (bare[by] ?? Number.NaN));
  const value = b.length === 0 ? (a[0]?.[by] ?? Number.NaN) : median(ratios);
  const [required, goal] = figure.target ?? [null, null];
  const meets = (limit: number) => (by === 'per second' ? value >= limit : value <= limit);
  const verdict = required === null ? 'info' : meets(goal) ? 'goal' : meets(required) ? 'ok' : 'missed';
  return {
    name: figure.name,
    value: Number.isFinite(value) ? Number(value.toPrecision(4)) : null,
    unit: b.length === 0 ? (by.split(' ').at(-1) as string) : 'ratio',
    required,
    goal,
    verdict: Number.isFinite(value) ? verdict : 'n/a',
    ours: summarize(a),
    bare: summarize(b),
    rounds: ratios.map((ratio) => Number(ratio.toFixed(2))),
  };
}

/** Formats the rows as a text table. */
export function formatTable(rows: readonly Row[]): string {
  const lines = rows.map(({ name, value, unit, required, goal, verdict, ours, bare, rounds }) => [
    name,
    ...[value, required, goal].map((number) => formatValue(number, unit)),
    verdict,
    [formatNumbers(ours), formatNumbers(bare)].filter((text) => text !== '').join(' : '),
    rounds.length > 1 ? `rounds ${rounds.join(' ')}` : '',
  ]);
  const table = [['figure', 'value', 'required', 'goal', '', 'ours : bare', ''], ...lines];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((line) => line[column]!.length)));
  const align = (cell: string, column: number) =>
    column >= 1 && column <= 3 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!);
  return table.map((line) => line.map(align).join('  ').trimEnd()).join('\n');
}

function formatValue(value: number | null, unit: string): string {
  if (value === null) return '';
  return unit === 'ratio' ? value.toFixed(2) : `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

function formatNumbers(numbers: Record<string, number>): string {
  return Object.entries(numbers)
    .map(([name, number]) => `${name} ${formatNumber(number)}`)
    .join(', ');
}

function formatNumber(number: number): string {
  return number >= 100 ? Math.round(number).toLocaleString('en-US') : String(Number(number.toPrecision(3)));
}
