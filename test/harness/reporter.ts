import { relative } from 'node:path';
import Mocha from 'mocha';
import { describeFailure, type Failure, type FailedRunnable } from './failureReport.ts';
import { appendRunEvent, readRunEvents } from './runEvents.ts';

const { EVENT_RUN_END, EVENT_SUITE_END, EVENT_TEST_FAIL, EVENT_TEST_PASS, EVENT_TEST_PENDING } = Mocha.Runner.constants;
const SLOWEST_COUNT = 10;
const NAME_WIDTH = 30;

interface FileResult {
  name: string;
  passed: number;
  failed: number;
  skipped: number;
  testMs: number;
}

/**
 * Prints a line for each file as it ends. At the end come the slowest tests, the skipped tests, the failures with
 * their context, and `N passed, N failed` (`, N skipped` where there are any) alone on the last line.
 */
export class FileReporter extends Mocha.reporters.Base {
  readonly #results: FileResult[] = [];
  readonly #failures: Failure[] = [];
  readonly #durations: { title: string; file: string; ms: number }[] = [];
  #current: FileResult | undefined;

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.on(EVENT_TEST_PASS, (test) => {
      this.#count(test).passed += 1;
      this.#time(test);
    });
    runner.on(EVENT_TEST_PENDING, (test) => {
      this.#count(test).skipped += 1;
    });
    runner.on(EVENT_TEST_FAIL, (runnable: FailedRunnable, error: unknown) => {
      const result = this.#count(runnable, error);
      result.failed += 1;
      this.#failures.push({ runnable, error, file: getTestFile(runnable, error) });
      this.#time(runnable);
    });
    // In parallel, each file has a root suite and arrives as a whole; otherwise all files share one root suite.
    runner.on(EVENT_SUITE_END, (suite) => {
      if (suite.root) this.#closeFile();
    });
    runner.once(EVENT_RUN_END, () => this.#printSummary());
  }

  /** Returns the result of the file that a test belongs to; prints that of the previous file. */
  #count(runnable: FailedRunnable, error?: unknown): FileResult {
    const file = getTestFile(runnable, error);
    const name = file === undefined ? '(no file)' : toTestName(file);
    if (this.#current?.name !== name) {
      this.#closeFile();
      this.#current = { name, passed: 0, failed: 0, skipped: 0, testMs: 0 };
      this.#results.push(this.#current);
    }
    return this.#current;
  }

  #time(runnable: FailedRunnable): void {
    const ms = runnable.duration ?? 0;
    if (this.#current !== undefined) this.#current.testMs += ms;
    if (runnable.type === 'test') {
      this.#durations.push({ title: runnable.fullTitle(), file: this.#current?.name ?? '', ms });
    }
  }

  #closeFile(): void {
    if (this.#current === undefined) return;
    const { name, passed, failed, skipped, testMs } = this.#current;
    this.#current = undefined;
    const measured = readRunEvents().findLast((event) => event.kind === 'file' && toTestName(event.file) === name);
    const ms = measured?.kind === 'file' ? measured.ms : testMs;
    const mark = failed > 0 ? 'FAIL' : passed > 0 ? 'ok  ' : 'skip';
    const total = passed + failed + skipped;
    const notes = [failed > 0 ? `${failed} failed` : '', skipped > 0 ? `${skipped} skipped` : ''].filter(Boolean);
    const count = `${String(total).padStart(4)} test${total === 1 ? ' ' : 's'}`;
    const line = `${mark} ${name.padEnd(NAME_WIDTH)} ${count} ${formatSeconds(ms).padStart(8)}`;
    console.log([line, ...notes].join('  '));
  }

  #printSummary(): void {
    this.#closeFile();
    const slowest = this.#durations.toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST_COUNT);
    if (this.#durations.length > SLOWEST_COUNT) {
      console.log('\nSlowest tests:');
      for (const { title, file, ms } of slowest) console.log(`  ${formatSeconds(ms).padStart(7)}  ${file}: ${title}`);
    }
    this.#printSkipped();
    for (const [index, failure] of this.#failures.entries()) {
      console.log(`\n${describeFailure(failure, index + 1)}`);
    }
    const sum = (key: 'passed' | 'failed' | 'skipped') =>
      this.#results.reduce((total, result) => total + result[key], 0);
    appendRunEvent({ kind: 'end', tests: sum('passed') + sum('failed') + sum('skipped') });
    const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
    console.log(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}`);
  }

  #printSkipped(): void {
    const skipping = this.#results.filter(({ skipped }) => skipped > 0);
    if (skipping.length === 0) return;
    const events = readRunEvents();
    console.log('\nSkipped tests:');
    for (const { name, skipped } of skipping) {
      const event = events.find((known) => known.kind === 'skip' && toTestName(known.file) === name);
      const reason = event?.kind === 'skip' ? event.reason : 'marked as skipped in the file';
      console.log(`  ${name}: ${skipped} (${reason})`);
    }
  }
}

/** `contract/apiKeys` for `test/contract/apiKeys.test.ts`. */
export function toTestName(file: string): string {
  return relative('test', file)
    .replaceAll('\\', '/')
    .replace(/\.test\.ts$/, '');
}

function getTestFile(runnable: FailedRunnable, error?: unknown): string | undefined {
  // A file that could not be loaded has no tests: mocha names it in the error.
  return runnable.file ?? (error as { file?: string } | undefined)?.file;
}

function formatSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
