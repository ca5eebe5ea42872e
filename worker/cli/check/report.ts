import type { IntegrityReport } from '../../../shared/domain/integrity/checkIntegrity.ts';
import {
  type CheckResult,
  type Invariant,
  INVARIANTS,
  VIOLATIONS_MAX,
} from '../../../shared/domain/integrity/index.ts';

/** Number of violations of each invariant in the report. */
const VIOLATIONS_SHOWN_MAX = 20;

const NAME_WIDTH = Math.max(...INVARIANTS.map(({ name }) => name.length));

const formatCells = (name: string, result: string, time: string) =>
  `${name.padEnd(NAME_WIDTH)}  ${result.padEnd(15)}  ${time.padStart(8)}`;

/** Formats the headings of the table. */
export function formatHeader(): string {
  return formatCells('invariant', 'result', 'ms');
}

/** Formats a row of the table. */
export function formatRow({ invariant, violations, milliseconds }: CheckResult): string {
  const result = violations.length === 0 ? 'ok' : `VIOLATED (${formatViolationCount(violations)})`;
  return formatCells(invariant.name, result, String(Math.round(milliseconds)));
}

/** Formats the list of invariants with their statements. */
export function formatInvariantList(invariants: readonly Invariant[]): string {
  const always = invariants.filter(({ checkedWhen: holds }) => holds === 'always');
  const drained = invariants.filter(({ checkedWhen: holds }) => holds === 'when drained');
  return [...formatSection('At any time:', always), '', ...formatSection('When no work is in progress:', drained)].join(
    '\n',
  );
}

function formatSection(heading: string, invariants: readonly Invariant[]): string[] {
  return [heading, ...invariants.map(({ name, statement: says }) => `\n  ${name}\n      ${says}`)];
}

/** Formats the report: the database, the time, and the violations with the history of the accounts concerned. */
export function formatReport(report: IntegrityReport, isDrained: boolean): string {
  const { host, port, name } = report.database;
  return `Database ${name} at ${host}:${port}, ${report.checkedAt.toISOString()}\n\n${formatFindings(report, isDrained)}`;
}

function formatFindings({ results, histories }: IntegrityReport, isDrained: boolean): string {
  const broken = results.filter(({ violations }) => violations.length > 0);
  const left = INVARIANTS.length - results.length;
  const unchecked = isDrained ? '' : ` ${left} more hold only when no work is in progress. Check them with --drained.`;
  if (broken.length === 0) return `All ${results.length} invariants hold.${unchecked}`;
  return [
    `${broken.length} of ${results.length} invariants do not hold.${unchecked}`,
    ...broken.flatMap(formatViolations),
    ...histories.flatMap(({ accountId, lines }) => ['', `Account ${accountId}`, ...lines.map((line) => `  ${line}`)]),
  ].join('\n');
}

function formatViolations({ invariant, violations }: CheckResult): string[] {
  const listed = violations.slice(0, VIOLATIONS_SHOWN_MAX);
  const more = violations.length - listed.length;
  return [
    '',
    `${invariant.name}: ${invariant.statement}`,
    ...listed.map(({ accountId, subject, detail }) =>
      accountId === null ? `  ${subject}: ${detail}` : `  account ${accountId}, ${subject}: ${detail}`,
    ),
    ...(more > 0 ? [`  ... ${formatViolationCount(violations)} in total`] : []),
  ];
}

function formatViolationCount({ length }: readonly unknown[]): string {
  return length === VIOLATIONS_MAX ? `${length} or more` : String(length);
}

/** Formats the complete report as JSON. */
export function formatJson({ database, checkedAt, results, histories }: IntegrityReport, isDrained: boolean): string {
  return JSON.stringify({
    database,
    checked_at: checkedAt.toISOString(),
    is_drained: isDrained,
    holds: results.every(({ violations }) => violations.length === 0),
    invariants: results.map(({ invariant: { name, statement: says }, violations, milliseconds }) => ({
      name,
      says,
      holds: violations.length === 0,
      milliseconds: Math.round(milliseconds),
      violations: violations.map(({ accountId, subject, detail }) => ({ account_id: accountId, subject, detail })),
    })),
    histories: histories.map(({ accountId, lines }) => ({ account_id: accountId, lines })),
  });
}
