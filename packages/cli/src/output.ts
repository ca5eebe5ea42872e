import type { Estimate, Generation } from '@genmeter/client';
import type { Terminal } from './terminal.ts';

/** Prints a result: as JSON, or as text for people, without characters that control the terminal. */
export function printResult(terminal: Terminal, result: unknown, text: () => string): void {
  terminal.print(terminal.isJson ? JSON.stringify(result, null, 2) : text().split('\n').map(toLine).join('\n'));
}

/** Prints what a person should know, although the command continues. Programs read errors alone. */
export function printWarning(terminal: Terminal, text: string): void {
  if (!terminal.isJson) terminal.note(toLine(text));
}

/** Prints what a person may do next. */
export function printHint(terminal: Terminal, text: string): void {
  if (!terminal.isQuiet) printWarning(terminal, text);
}

/** Formats rows in columns. */
export function formatTable(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map(toCell));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  return cells
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Formats a list in columns, or says that it is empty. */
export function formatList(
  name: string,
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  return rows.length === 0 ? `No ${name}.` : formatTable(headings, rows);
}

/** Replaces characters that control the terminal, which texts of the service or of users may contain. */
export const toLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ');

const CELL_MAX_CHARACTERS = 60;

function toCell(value: string | number): string {
  const text = toLine(String(value));
  return text.length > CELL_MAX_CHARACTERS ? `${text.slice(0, CELL_MAX_CHARACTERS - 1)}…` : text;
}

/** Time to the second, in UTC. */
export const formatTime = (iso: string | null): string =>
  iso === null ? '-' : `${iso.slice(0, 19).replace('T', ' ')}Z`;

export function formatGenerations(generations: readonly Generation[]): string {
  return formatList(
    'generations',
    ['UUID', 'STATUS', 'KIND', 'CREDITS', 'CREATED', 'PROMPT'],
    generations.map((one) => [
      one.uuid,
      one.status,
      one.kind,
      one.credits_charged,
      formatTime(one.created_at),
      one.prompt,
    ]),
  );
}

export function formatEstimate(estimate: Estimate): string {
  const price = `It costs ${estimate.credits} of ${estimate.balance} credits; ${estimate.balance_after} remain.`;
  return estimate.refusal === null ? price : `${price}\nIt would be rejected: ${estimate.refusal.detail}`;
}

function formatPairs(pairs: object, separator: string): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}${separator}${String(value)}`)
    .join(', ');
}

export function formatGeneration(generation: Generation): string {
  const { uuid, status, model, prompt, params, credits_charged: credits } = generation;
  const lines: [string, string | number][] = [
    ['uuid', uuid],
    ['status', status],
    ['model', model],
    ['prompt', prompt],
    ['params', formatPairs(params, ' ')],
    ['credits', status === 'failed' ? `${credits}, refunded` : credits],
    ['created', formatTime(generation.created_at)],
  ];
  if (generation.metadata !== undefined) lines.push(['metadata', formatPairs(generation.metadata, '=')]);
  if (generation.error_message !== null) lines.push(['reason', generation.error_message]);
  const { output_url: url, outputs = [{ output_url: url }] } = generation;
  for (const output of outputs) if (output.output_url !== null) lines.push(['output', output.output_url]);
  return formatFields(lines, 10);
}

/**
 * Formats names and values in two columns. Values are not shortened.
 * @param width of the names.
 */
export function formatFields(fields: readonly [name: string, value: string | number][], width: number): string {
  return fields.map(([name, value]) => `${name.padEnd(width)}${toLine(String(value))}`).join('\n');
}
