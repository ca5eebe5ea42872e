import type { Books } from '../../shared/domain/checkBooks.ts';
import { type Checked, type Invariant, INVARIANTS, VIOLATIONS_MAX } from '../../shared/domain/invariants/index.ts';

/** What a check has found, for people and as JSON. */

/** Of what breaks an invariant so much is shown. */
const SHOWN = 20;

const NAME_WIDTH = Math.max(...INVARIANTS.map(({ name }) => name.length));

const row = (name: string, result: string, time: string) =>
  `${name.padEnd(NAME_WIDTH)}  ${result.padEnd(15)}  ${time.padStart(8)}`;

/** The headings of the table. */
export function columns(): string {
  return row('invariant', 'result', 'ms');
}

/** A line of the table. */
export function lineOf({ invariant, violations, milliseconds }: Checked): string {
  const result = violations.length === 0 ? 'ok' : `VIOLATED (${countOf(violations)})`;
  return row(invariant.name, result, String(Math.round(milliseconds)));
}

/** What the invariants say, each under its name. */
export function listOf(invariants: readonly Invariant[]): string {
  const always = invariants.filter(({ holds }) => holds === 'always');
  const settled = invariants.filter(({ holds }) => holds === 'when settled');
  return [...section('At every moment:', always), '', ...section('Once nothing is under way:', settled)].join('\n');
}

function section(heading: string, invariants: readonly Invariant[]): string[] {
  return [heading, ...invariants.map(({ name, says }) => `\n  ${name}\n      ${says}`)];
}

/** Of which database at which moment, and what is wrong there, and with whom; or that nothing is. */
export function conclusion(books: Books, isSettled: boolean): string {
  const { host, port, name } = books.database;
  return `Database ${name} at ${host}:${port}, ${books.checkedAt.toISOString()}\n\n${findings(books, isSettled)}`;
}

function findings({ checked, histories }: Books, isSettled: boolean): string {
  const broken = checked.filter(({ violations }) => violations.length > 0);
  const left = INVARIANTS.length - checked.length;
  const unchecked = isSettled ? '' : ` ${left} more hold only when nothing is under way: --settled checks them, too.`;
  if (broken.length === 0) return `All ${checked.length} invariants hold.${unchecked}`;
  return [
    `${broken.length} of ${checked.length} invariants do not hold.${unchecked}`,
    ...broken.flatMap(whatBreaks),
    ...histories.flatMap(({ accountId, lines }) => ['', `Account ${accountId}`, ...lines.map((line) => `  ${line}`)]),
  ].join('\n');
}

function whatBreaks({ invariant, violations }: Checked): string[] {
  const shown = violations.slice(0, SHOWN);
  const more = violations.length - shown.length;
  return [
    '',
    `${invariant.name}: ${invariant.says}`,
    ...shown.map(({ accountId, subject, detail }) =>
      accountId === null ? `  ${subject}: ${detail}` : `  account ${accountId}, ${subject}: ${detail}`,
    ),
    ...(more > 0 ? [`  ... of ${countOf(violations)}`] : []),
  ];
}

function countOf({ length }: readonly unknown[]): string {
  return length === VIOLATIONS_MAX ? `${length} or more` : String(length);
}

/** All of it, for programs. */
export function asJson({ database, checkedAt, checked, histories }: Books, isSettled: boolean): string {
  return JSON.stringify({
    database,
    checked_at: checkedAt.toISOString(),
    is_settled: isSettled,
    holds: checked.every(({ violations }) => violations.length === 0),
    invariants: checked.map(({ invariant: { name, says }, violations, milliseconds }) => ({
      name,
      says,
      holds: violations.length === 0,
      milliseconds: Math.round(milliseconds),
      violations: violations.map(({ accountId, subject, detail }) => ({ account_id: accountId, subject, detail })),
    })),
    histories: histories.map(({ accountId, lines }) => ({ account_id: accountId, lines })),
  });
}
