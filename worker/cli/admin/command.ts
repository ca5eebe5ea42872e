/** How long nothing must have happened to a job for it to count as stuck, unless it is said, in seconds. */
export const STUCK_AFTER_SECONDS = 120;

/** What a command of `npm run admin` is told, and what it has to say. */
export interface CommandContext {
  /** What was named without an option, in order. */
  args: string[];
  options: Record<string, string | boolean | undefined>;
  /** Whether it is to be done; else it is only told what would be. */
  shouldApply: boolean;
  print: (line: string) => void;
}

export interface Command {
  /** One line, for the list of commands. */
  summary: string;
  /** How it is called, beginning with its name. */
  usage: string;
  details: string;
  options: Record<string, { type: 'string' | 'boolean'; about: string }>;
  /** How many names it takes at least and at most. */
  argumentCount: readonly [number, number];
  /** Whether it changes anything: then it does so with `--apply` only. */
  isMutating: boolean;
  /** Loaded when it is called: to explain it takes no configuration. */
  load: () => Promise<(call: CommandContext) => Promise<void>>;
}

/** Called in a way that it cannot be: the sentence says how it can. */
export class UsageError extends Error {}

/**
 * A whole number among the options.
 * @throws UsageError
 */
export function parseIntegerOption(text: unknown, name: string, min: number, max: number): number {
  const value = typeof text === 'string' && /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}.`);
}

/** Rows under their headings, in columns as wide as what is in them. */
export function formatTable(headings: string[], rows: string[][]): string[] {
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

export function formatTime(date: Date | null): string {
  return date === null ? '-' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
