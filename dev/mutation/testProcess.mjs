import { createRequire } from 'node:module';
import Mocha from 'mocha';

/*
 * Runs test files again and again, for one mutant after the other, as `test/run.ts` has bundled them: starting a
 * process takes longer than most tests. A message `{ mutant, files }` runs the files in this order, until a test fails.
 */
const { TEST_FOLDER, TEST_TIMEOUT_MS, MUTANT } = process.env;

// Read by the mutants themselves, some of them while their module is loaded.
globalThis.mutant = Number(MUTANT);
const bundle = createRequire(import.meta.url)(`${TEST_FOLDER}/tests/modules.bundle.cjs`);
const { mochaHooks } = bundle['test/harness/testLogs.ts']();
const loaded = new Map();

/** The results are read from the runner. */
function NoReporter() {}

function load(file) {
  const known = loaded.get(file);
  if (known !== undefined) return known;
  const timeout = Number(TEST_TIMEOUT_MS);
  const mocha = new Mocha({ bail: true, timeout, reporter: NoReporter, rootHooks: mochaHooks });
  mocha.cleanReferencesAfterRun(false);
  mocha.suite.emit('pre-require', globalThis, file, mocha);
  bundle[file]();
  loaded.set(file, mocha);
  return mocha;
}

/** @returns the first failure; undefined if all tests pass. */
function runFile(file) {
  const mocha = load(file);
  return new Promise((resolve) => {
    let failure;
    const runner = mocha.run(() => resolve(failure));
    runner.on('fail', (test, error) => {
      failure ??= {
        file,
        title: test.fullTitle(),
        message: String(error?.message),
        isAssertion: error?.name === 'AssertionError',
      };
    });
  });
}

async function run({ mutant, files }) {
  globalThis.mutant = mutant;
  const durations = {};
  let failure;
  for (const file of files) {
    const startedAt = performance.now();
    failure = await runFile(file);
    durations[file] = Math.round(performance.now() - startedAt);
    if (failure !== undefined) break;
  }
  process.send({ failure, durations });
}

process.on('message', (message) => void run(message));
process.on('disconnect', () => process.exit());
