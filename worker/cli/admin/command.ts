import type { Writable } from 'node:stream';
import type { ProcessKind } from '../../../shared/lib/config.ts';

/** Output of a command. Logs and errors go to stderr. */
export interface CommandStreams {
  stdout: Writable;
  stderr: Writable;
}

/** Input and output of a command of `npm run admin`. */
export interface CommandContext extends CommandStreams {
  /** Positional arguments, in order. */
  args: string[];
  options: Record<string, string | boolean | string[] | undefined>;
  /** False for a dry run, which only prints the changes. */
  shouldApply: boolean;
  /** Writes a line to stdout. */
  print: (line: string) => void;
}

export interface Command {
  /** One line, for the list of commands. */
  summary: string;
  /** Arguments in commander's syntax: `<required>`, `[optional]`, `[several...]`. */
  args: string;
  details: string;
  /** Descriptions by flag, in commander's syntax. */
  options: Record<string, string>;
  /** Commands that change data do so only with `--apply`. */
  isMutating: boolean;
  /** Description of `--dry-run` of a command that changes no data, but sends something without it. */
  dryRun?: string;
  /** Variables that it reads. Default: those of `admin`. */
  kind?: ProcessKind;
  /** Imports the command when it runs: `--help` needs no configuration. */
  load: () => Promise<(context: CommandContext) => Promise<void>>;
}

/** Invalid arguments. The message is one sentence that says how to correct them. */
export class UsageError extends Error {}

/**
 * Parses a whole number.
 * @throws UsageError
 */
export function parseIntegerOption(text: unknown, name: string, min: number, max: number): number {
  const value = typeof text === 'string' && /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}.`);
}

/** Prints rows under their headings, in columns as wide as their content. */
export function printTable(print: CommandContext['print'], headings: string[], rows: string[][]): void {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd();
  for (const cells of [headings, ...rows]) print(line(cells));
}

/** Formats a time as ISO 8601 without milliseconds, or a dash. */
export function formatTime(date: Date | null): string {
  return date === null ? '-' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
