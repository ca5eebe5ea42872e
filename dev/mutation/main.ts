import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { createSeededRandom } from '../../test/fakes/seededRandom.ts';
import { readInteger } from '../chaos/options.ts';
import { ROOT } from '../local/environment/build.ts';
import { findReason, listMutants } from './listMutants.ts';
import { applyEdit, type Mutant } from './mutant.ts';
import { TestRunner } from './testRunner.ts';
import { findTests } from './tests.ts';
import { buildInstrumented, TypeChecker } from './tsMutants.ts';

const USAGE = `npm run mutation -- --files <file...> [options]

Changes one operator, condition, literal or clause of the source at a time, and runs the tests that should fail then. The
work tree is not changed. Prints the changes that no test detects; exits with 1 if there are any that
dev/mutation/explained.ts does not explain.

  --files <file...>  SQL functions and TypeScript modules, such as shared/domain/credits/*.sql
  --max <count>      a random selection of the mutants
  --seed <number>    which ones; default 1
  --verbose          print each mutant, with the test that detects it`;

type Outcome = 'killed' | 'survived' | 'explained' | 'invalid';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    files: { type: 'string' },
    max: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help || values.files === undefined) {
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}
const files = [values.files, ...positionals].map((file) => relative(ROOT, file).replaceAll('\\', '/'));
process.exit(await main());

async function main(): Promise<number> {
  const checker = files.every((file) => file.endsWith('.sql'))
    ? undefined
    : new TypeChecker(join(ROOT, 'tsconfig.json'));
  const mutants = sample(listMutants(files, checker));
  const tests = [...new Set(files.flatMap(findTests))];
  const runner = await TestRunner.start(tests, instrument(mutants));
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void runner.stop().then(() => process.exit(130)));
  try {
    const durations = await measure(runner, tests);
    const outcomes = await tryAll(runner, checker, mutants, durations);
    printTable(mutants, outcomes);
    return outcomes.includes('survived') ? 1 : 0;
  } finally {
    await runner.stop();
    checker?.close();
  }
}

/** Chooses at most `--max` mutants, in the order of the source. */
function sample(mutants: Mutant[]): Mutant[] {
  const random = createSeededRandom(values.seed);
  const ranked = mutants
    .map((mutant) => ({ mutant, rank: random.next() }))
    .toSorted((one, other) => one.rank - other.rank);
  const chosen = ranked
    .slice(0, readInteger('npm run mutation', 'max', values.max, 1, 1_000_000))
    .map(({ mutant }) => mutant);
  return chosen.toSorted((one, other) => one.id - other.id);
}

/** The texts of the TypeScript modules that have mutants, with all of them in it. */
function instrument(mutants: readonly Mutant[]): Map<string, string> {
  const inModules = mutants.filter(({ file }) => !file.endsWith('.sql'));
  const build = (file: string): [string, string] => {
    const path = join(ROOT, file);
    const inside = inModules.filter((mutant) => mutant.file === file);
    return [path, buildInstrumented(readFileSync(path, 'utf8'), inside)];
  };
  return new Map([...new Set(inModules.map(({ file }) => file))].map(build));
}

/** Runs all tests without a mutant. @returns how long they take, in milliseconds. */
async function measure(runner: TestRunner, tests: readonly string[]): Promise<Record<string, number>> {
  const measured: Record<string, number> = {};
  for (const test of tests) {
    const { failure, durations } = await runner.measure(test);
    if (failure !== undefined) throw new Error(`${test} fails without a mutant: ${failure.title}: ${failure.message}`);
    Object.assign(measured, durations);
  }
  if (runner.hasInvalidSql(0)) throw new Error('Tests execute invalid SQL without a mutant, too.');
  return measured;
}

async function tryAll(
  runner: TestRunner,
  checker: TypeChecker | undefined,
  mutants: readonly Mutant[],
  durations: Record<string, number>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  /** Number of mutants of a file that a test file has detected. */
  const kills = new Map<string, number>();
  for (const mutant of mutants) {
    const { file } = mutant;
    const rank = (test: string) => (durations[test] ?? 0) - 60_000 * (kills.get(`${file} ${test}`) ?? 0);
    const tests = findTests(file).toSorted((one, other) => rank(one) - rank(other));
    const startedAt = performance.now();
    const { outcome, by } = await tryMutant(runner, checker, mutant, tests);
    outcomes.push(outcome);
    const [test] = by.split(': ');
    kills.set(`${file} ${test}`, (kills.get(`${file} ${test}`) ?? 0) + 1);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    if (values.verbose || outcome === 'survived')
      console.log(`${outcome.padEnd(9)} ${file}:${mutant.line}  ${mutant.change}  (${seconds} s) ${by}`);
  }
  return outcomes;
}

async function tryMutant(
  runner: TestRunner,
  checker: TypeChecker | undefined,
  mutant: Mutant,
  tests: readonly string[],
): Promise<{ outcome: Outcome; by: string }> {
  const reason = findReason(mutant);
  if (reason !== undefined) return { outcome: 'explained', by: reason };
  const path = join(ROOT, mutant.file);
  const source = readFileSync(path, 'utf8');
  const mutated = applyEdit(source, mutant);
  const isSql = mutant.file.endsWith('.sql');
  const isAccepted = isSql ? await runner.install(mutated) : checker?.accepts(path, mutated);
  if (isAccepted !== true)
    return { outcome: 'invalid', by: isSql ? 'rejected by Postgres' : 'rejected by the compiler' };
  const { logSize } = runner;
  const { failure } = await runner.run(mutant.id, tests, mutant.isStatic);
  if (isSql) await runner.install(source);
  if (failure === undefined) return { outcome: 'survived', by: '' };
  if (runner.hasInvalidSql(logSize)) return { outcome: 'invalid', by: 'invalid SQL' };
  return {
    outcome: 'killed',
    by: `${failure.file}: ${failure.title}: ${failure.message.split('\n')[0]?.slice(0, 100)}`,
  };
}

function printTable(mutants: readonly Mutant[], outcomes: readonly Outcome[]): void {
  const count = (outcome: Outcome, file?: string) =>
    outcomes.filter((found, index) => found === outcome && (file ?? mutants[index]?.file) === mutants[index]?.file)
      .length;
  const row = (file?: string) => {
    const [killed, explained, survived, invalid] = (['killed', 'explained', 'survived', 'invalid'] as const).map(
      (outcome) => count(outcome, file),
    ) as [number, number, number, number];
    const percent = ((100 * killed) / Math.max(1, killed + survived)).toFixed(0);
    const total = killed + explained + survived + invalid;
    return `${total} mutants, ${killed} killed, ${explained} explained, ${survived} survived, ${invalid} invalid (${percent} %)`;
  };
  for (const file of new Set(mutants.map((mutant) => mutant.file))) console.log(`${file}: ${row(file)}`);
  console.log(row());
}
