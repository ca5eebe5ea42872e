import { EXCEPTIONS, type ConformanceException } from './exceptions.ts';
import type { SuiteCheck } from './suite.ts';

export interface ScenarioVerdict {
  scenario: string;
  passed: number;
  /** Unexpected failures. */
  failures: SuiteCheck[];
  /** The reason why it, or a part of it, does not apply. */
  reason: string | null;
  /** True if an exception passes, and should be removed. */
  isOutdated: boolean;
}

/** Compares the results of the suite with the list of exceptions. */
export function buildVerdicts(results: Map<string, SuiteCheck[]>): ScenarioVerdict[] {
  return [...results].map(([scenario, checks]) => {
    const exception = EXCEPTIONS.find((known) => known.scenario === scenario);
    const failed = checks.filter(({ status }) => status === 'FAILURE');
    const excused = failed.filter((check) => isExcused(check, exception));
    return {
      scenario,
      passed: checks.filter(({ status }) => status === 'SUCCESS').length,
      failures: failed.filter((check) => !excused.includes(check)),
      reason: excused.length > 0 ? (exception?.reason ?? null) : null,
      isOutdated: exception !== undefined && excused.length === 0,
    };
  });
}

function isExcused({ id }: SuiteCheck, exception: ConformanceException | undefined): boolean {
  return exception !== undefined && (exception.checks === undefined || exception.checks.includes(id));
}

/** One check of each scenario only says that the scenario could start. */
function formatMark(hasFailed: boolean, passed: number, isExcepted: boolean): string {
  if (hasFailed) return 'FAILED';
  if (isExcepted) return passed > 1 ? 'in part' : '-';
  return passed > 0 ? 'passed' : '-';
}

/** One line for each scenario. */
export function formatVerdictLines(verdicts: readonly ScenarioVerdict[]): string[] {
  const width = Math.max(...verdicts.map(({ scenario }) => scenario.length));
  return verdicts.flatMap(({ scenario, passed, failures, reason, isOutdated }) => {
    const name = scenario.padEnd(width);
    const says = reason === null ? '' : `; not applicable: ${reason}`;
    const outdated = isOutdated ? '; listed as not applicable, but it passes' : '';
    const mark = formatMark(failures.length > 0 || isOutdated, passed, reason !== null);
    const details = failures.map(({ id, message }) => `           ${id}: ${message}`);
    const counted = `${passed} check${passed === 1 ? '' : 's'} passed`;
    return [`  ${mark.padEnd(7)}  ${name}  ${counted}${says}${outdated}`, ...details];
  });
}
