import { relative } from 'node:path';
import Mocha from 'mocha';
import { restoreSourcePositions } from './sourcePositions.ts';

const { Base } = Mocha.reporters;

/** A test or a hook as mocha's processes send it, with only these methods. */
export interface FailedRunnable {
  title: string;
  type?: string | undefined;
  file?: string | undefined;
  duration?: number | undefined;
  fullTitle(): string;
  titlePath(): string[];
}

export interface Failure {
  runnable: FailedRunnable;
  error: unknown;
  file: string | undefined;
}

/** Formats a failure: titles, the error with its causes, log lines, and the command to repeat it. */
export function describeFailure({ runnable, error, file }: Failure, number: number): string {
  const titles = getTitlePath(runnable);
  const where = file === undefined ? '' : `  ${relative('.', file)}\n`;
  const path = titles.map((title, depth) => `  ${'  '.repeat(depth)}${title}`).join('\n');
  const logs = (isErrorLike(error) ? error.logLines : undefined) ?? [];
  const parts = [
    `FAILED ${number}) ${titles.join(' › ')}\n${where}${path}`,
    indent(describeError(error)),
    logs.length === 0 ? '' : indent(`Last ${logs.length} lines of the service log:\n${logs.join('\n')}`),
    file === undefined ? '' : `  Run it alone: ${buildRerunCommand(runnable, file)}`,
  ];
  return restoreSourcePositions(parts.filter(Boolean).join('\n\n'));
}

/** An error of another process, which arrives as a plain object. */
interface ErrorLike {
  name?: string;
  message: string;
  stack?: string;
  actual?: unknown;
  expected?: unknown;
  /** Attached by `testLogs.ts`. */
  causes?: string[];
  logLines?: string[];
  /** Further errors of the same test. */
  multiple?: unknown[];
}

function describeError(error: unknown): string {
  if (!isErrorLike(error)) return String(error);
  const { name = 'Error', message, stack = '', actual, expected, causes = [], multiple = [] } = error;
  const text = stack.includes(message.split('\n')[0] ?? '') ? stack : `${name}: ${message}\n${stack}`;
  // The types of mocha lack this function, which says whether the two values are worth comparing.
  const { showDiff } = Base as unknown as { showDiff(this: void, error: ErrorLike): boolean };
  const hasDiff = showDiff(error) && typeof actual === 'string' && typeof expected === 'string';
  const diff = hasDiff ? Base.generateDiff(actual, expected).trimEnd() : '';
  const more = multiple.filter((other) => isErrorLike(other) && other !== error);
  return [text.trimEnd(), diff, ...causes.map((stack) => `Caused by: ${stack}`), ...more.map(describeError)]
    .filter(Boolean)
    .join('\n\n');
}

function isErrorLike(error: unknown): error is ErrorLike {
  return typeof error === 'object' && error !== null && typeof (error as ErrorLike).message === 'string';
}

/** Without the last title for a hook, which cannot be selected on the command line. */
function buildRerunCommand(runnable: FailedRunnable, file: string): string {
  const titles = getTitlePath(runnable);
  const chosen = runnable.type === 'test' ? titles : titles.slice(0, -1);
  const filter = chosen.length === 0 ? '' : ` -f '${chosen.join(' ').replaceAll("'", `'\\''`)}'`;
  return `npm test -- ${relative('.', file)}${filter}`;
}

/** Mocha's placeholder for a file that cannot be loaded has no path. */
function getTitlePath(runnable: FailedRunnable): string[] {
  return typeof runnable.titlePath === 'function' ? runnable.titlePath().filter(Boolean) : [runnable.title];
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ');
}
