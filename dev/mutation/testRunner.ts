import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL_FUNCTIONS } from '../../shared/domain/features.ts';
import { buildPrograms } from '../../test/harness/builtPrograms.ts';
import { createTemplateDatabase, TEMPLATE_DATABASE } from '../../test/harness/databases.ts';
import { bundleTests } from '../../test/harness/moduleBundle.ts';
import { connectTo, executeStatements, withDatabaseName } from '../local/environment/databases.ts';
import { createScratchFolder } from '../local/environment/scratchFolder.ts';
import { startServers, type Servers } from '../local/environment/servers.ts';

/** The result of the tests of one mutant. */
export interface TestResult {
  failure?: { file: string; title: string; message: string; isAssertion: boolean };
  /** In milliseconds, by file. */
  durations: Record<string, number>;
}

/** Nothing need survive a power failure. Errors have their code, by which invalid SQL is recognized. */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  log_line_prefix: '%e ',
};

const TEST_TIMEOUT_MS = 20_000;
const RUN_TIMEOUT_MS = 240_000;
/** A statement that is not valid SQL, or whose types do not fit. Mutants change no names of relations. */
const INVALID_SQL = /^42(?!501|P01 ERROR: +relation)\w{3} ERROR/m;

/** Runs tests in a process that stays, on one Postgres and Redis, and installs mutants of SQL functions. */
export class TestRunner {
  readonly #folder: string;
  readonly #servers: Servers;
  /** Files that need a process of their own: a second run finds what the first has left. */
  readonly #unrepeatable = new Set<string>();
  #child: ChildProcess | undefined;

  private constructor(folder: string, servers: Servers) {
    this.#folder = folder;
    this.#servers = servers;
  }

  /** @param sources texts of modules instead of those of the disk, by path. */
  static async start(files: readonly string[], sources: ReadonlyMap<string, string>): Promise<TestRunner> {
    const folder = createScratchFolder('genmeter-mutation-');
    mkdirSync(join(folder, 'tmp'));
    await Promise.all([bundleTests(folder, files, sources), buildPrograms(folder)]);
    const servers = await startServers({ folder, postgresSettings: POSTGRES_SETTINGS, appendOnly: false });
    await createTemplateDatabase(servers.postgres.url, servers.redis.url, folder);
    return new TestRunner(folder, servers);
  }

  /** Runs a file without a mutant, twice, to find out whether it can be repeated in a process. */
  async measure(file: string): Promise<TestResult> {
    const first = await this.run(0, [file]);
    const second = first.failure === undefined ? await this.run(0, [file]) : first;
    if (second.failure !== undefined) this.#unrepeatable.add(file);
    return first.failure === undefined ? first : this.run(0, [file]);
  }

  /**
   * Runs test files until a test fails; no answer in time is a failure.
   * @param mutant its id; 0 for none.
   */
  async run(mutant: number, files: readonly string[], isStatic = false): Promise<TestResult> {
    if (isStatic) this.#endProcess();
    this.#child ??= this.#startProcess(mutant);
    const child = this.#child;
    child.send({ mutant, files });
    const result = await new Promise<TestResult>((resolve) => {
      const timer = setTimeout(() => resolve(toFailure('no answer in time')), RUN_TIMEOUT_MS);
      const end = () => resolve(toFailure('the process ended'));
      child.once('exit', end).once('message', (answer: TestResult) => {
        clearTimeout(timer);
        child.off('exit', end);
        resolve(answer);
      });
    });
    child.removeAllListeners('message');
    // A test that was interrupted may disturb the next one.
    const isDisturbed = result.failure !== undefined && !result.failure.isAssertion;
    const isSpent = Object.keys(result.durations).some((file) => this.#unrepeatable.has(file));
    if (isStatic || isDisturbed || isSpent) this.#endProcess();
    await this.#dropDatabases();
    return result;
  }

  /**
   * Replaces the text of a function in the database that tests copy.
   * @returns whether Postgres accepts it.
   */
  async install(text: string): Promise<boolean> {
    const named = SQL_FUNCTIONS.reduce(
      (written, { name, installedName }) => written.replaceAll(new RegExp(`\\b${name}\\(`, 'g'), `${installedName}(`),
      text.replace(/^CREATE FUNCTION/m, 'CREATE OR REPLACE FUNCTION'),
    );
    const url = withDatabaseName(this.#servers.postgres.url, TEMPLATE_DATABASE);
    return executeStatements(url, named).then(
      () => true,
      () => false,
    );
  }

  /** Size of the log of Postgres, for {@link hasInvalidSql}. */
  get logSize(): number {
    return readFileSync(join(this.#folder, 'postgres/postgres.log')).length;
  }

  /** Returns whether a statement was invalid since the log had this size. */
  hasInvalidSql(since: number): boolean {
    return INVALID_SQL.test(readFileSync(join(this.#folder, 'postgres/postgres.log')).subarray(since).toString());
  }

  async stop(): Promise<void> {
    this.#endProcess();
    await this.#servers.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #startProcess(mutant: number): ChildProcess {
    return fork(join(import.meta.dirname, 'testProcess.mjs'), {
      execArgv: ['--max-semi-space-size=64'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        TEST_FOLDER: this.#folder,
        TMPDIR: join(this.#folder, 'tmp'),
        TEST_DATABASE_URL: this.#servers.postgres.url,
        TEST_REDIS_URL: this.#servers.redis.url,
        TEST_TIMEOUT_MS: String(TEST_TIMEOUT_MS),
        MUTANT: String(mutant),
      },
    });
  }

  #endProcess(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #dropDatabases(): Promise<void> {
    const client = await connectTo(withDatabaseName(this.#servers.postgres.url, 'postgres'));
    try {
      const { rows } = await client.query<{ name: string }>(
        `SELECT datname AS name FROM pg_database WHERE datname ~ '^test_[0-9]'`,
      );
      for (const { name } of rows) await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    } finally {
      await client.end();
    }
  }
}

function toFailure(message: string): TestResult {
  return { failure: { file: '', title: '', message, isAssertion: false }, durations: {} };
}
