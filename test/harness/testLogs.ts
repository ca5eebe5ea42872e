import { inspect } from 'node:util';
import type { Hook, Suite, Test } from 'mocha';
import { appendRunEvent } from './runEvents.ts';

/**
 * Collects the log lines of the service while tests run, and attaches those of a failed test to its error, where the
 * reporter finds them (`error.logLines`). Also measures how long each file takes, loading included.
 */
const MAX_LOG_LINES = 200;

interface State {
  lines: string[];
  /** Number of lines recorded before the current test. */
  before: number;
  recorded: number;
  /** Time at which this process became free for the current file. */
  freeSince: number;
  /** Services of the current file, each with the function that ends it. */
  running: Map<object, () => Promise<void>>;
}

declare global {
  var testLogState: State | undefined;
}

// Global, because mocha may load this module beside the instance that the harness imports.
const state: State = (globalThis.testLogState ??= {
  lines: [],
  before: 0,
  recorded: 0,
  freeSince: 0,
  running: new Map(),
});

/** Records one line, or several, that the service logged. Keeps the last 200. */
export function recordLog(text: string): void {
  for (const line of text.split('\n')) {
    if (line === '') continue;
    state.lines.push(line);
    state.recorded += 1;
    if (state.lines.length > MAX_LOG_LINES) state.lines.shift();
  }
}

/** Registers a service that is ended with its file, unless the test has removed it by then. */
export function endWithFile(service: object, end: () => Promise<void>): void {
  state.running.set(service, end);
}

export function removeEnded(service: object): void {
  state.running.delete(service);
}

// Output of libraries in the fakes belongs to the test that caused it, not to the report.
for (const level of ['info', 'warn'] as const) console[level] = (...args: unknown[]) => recordLog(inspect(args));
process.removeAllListeners('warning');
process.on('warning', (warning) => recordLog(`${warning.name}: ${warning.message}`));

/** Loaded by mocha's `--require` in each of its processes. */
export const mochaHooks = {
  beforeAll() {
    state.lines = [];
  },
  beforeEach() {
    state.before = state.recorded;
  },
  afterEach(this: Mocha.Context) {
    const test = this.currentTest;
    if (test?.state !== 'failed') return;
    const count = Math.min(state.recorded - state.before, state.lines.length);
    attachLogs(test, state.lines.slice(state.lines.length - count));
  },
  async afterAll(this: Mocha.Context) {
    // A test that failed may have left its service open, with its clock. The next file would run in the same process.
    for (const end of state.running.values()) await end();
    state.running.clear();
    const root = this.test?.parent;
    for (const hook of findFailedHooks(root)) attachLogs(hook, state.lines);
    const now = performance.now();
    const file = root?.suites[0]?.file ?? root?.tests[0]?.file;
    if (file !== undefined) appendRunEvent({ kind: 'file', file, ms: Math.round(now - state.freeSince) });
    state.freeSince = now;
  },
};

/** Adds to an error what would be lost on the way to the reporter's process: log lines and the stacks of its causes. */
function attachLogs(failed: Test | Hook, logLines: readonly string[]): void {
  const error: unknown = (failed as { err?: unknown }).err;
  if (!(error instanceof Error) || 'logLines' in error || !Object.isExtensible(error)) return;
  Object.assign(error, { logLines: [...logLines], causes: getCauseStacks(error) });
}

function getCauseStacks(error: Error, depth = 0): string[] {
  const { cause } = error;
  if (!(cause instanceof Error) || depth > 5) return cause === undefined ? [] : [inspect(cause)];
  return [cause.stack ?? cause.message, ...getCauseStacks(cause, depth + 1)];
}

/** Hooks have no `afterEach` of their own: their failures are collected at the end of the file. */
function findFailedHooks(suite: Suite | undefined): Hook[] {
  if (suite === undefined) return [];
  const lists = suite as unknown as Record<string, Hook[] | undefined>;
  const own = ['_beforeAll', '_beforeEach', '_afterEach', '_afterAll'].flatMap((name) => lists[name] ?? []);
  const failed = own.filter((hook) => (hook as { err?: unknown }).err !== undefined);
  return [...failed, ...suite.suites.flatMap(findFailedHooks)];
}
