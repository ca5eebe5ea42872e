/** How long nothing must have happened to a job for it to count as stuck, unless it is said, in seconds. */
export const QUIET_SECONDS = 120;

/** What a command of `npm run admin` is told, and what it has to say. */
export interface Call {
  /** What was named without an option, in order. */
  names: string[];
  options: Record<string, string | boolean | undefined>;
  /** Whether it is to be done; else it is only told what would be. */
  isForReal: boolean;
  say: (line: string) => void;
}

export interface Command {
  /** One line, for the list of commands. */
  summary: string;
  /** How it is called, beginning with its name. */
  usage: string;
  details: string;
  options: Record<string, { type: 'string' | 'boolean'; about: string }>;
  /** How many names it takes at least and at most. */
  names: readonly [number, number];
  /** Whether it changes anything: then it does so with `--apply` only. */
  changes: boolean;
  /** Loaded when it is called: to explain it takes no configuration. */
  load: () => Promise<(call: Call) => Promise<void>>;
}

/** Called in a way that it cannot be: the sentence says how it can. */
export class UsageError extends Error {}

/**
 * A whole number among the options.
 * @throws UsageError
 */
export function wholeNumber(text: unknown, name: string, least: number, most: number): number {
  const value = typeof text === 'string' && /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${name} must be a whole number from ${least} to ${most}.`);
}

/** Rows under their headings, in columns as wide as what is in them. */
export function table(headings: string[], rows: string[][]): string[] {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd();
  return [headings, ...rows].map(line);
}

export function time(date: Date | null): string {
  return date === null ? '-' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
