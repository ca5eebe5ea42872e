import { INVARIANTS } from '../../../shared/domain/credits/integrity/index.ts';
import { readCommandLine } from '../../../shared/lib/commandLine.ts';
import { runMain } from '../../../shared/lib/runMain.ts';
import { formatJson, formatHeader, formatReport, formatRow, formatInvariantList } from './report.ts';

/**
 * Whether the books are right: `npm run check`, in a deployment `node dist/worker/cli/check/main.js`. A program of its own
 * and no command of `npm run admin`: it names no account and has nothing to apply, and its status is its answer. Ends
 * with 0 where all holds; 1 where something does not; 2 where it was called wrongly; 69 where the database cannot be
 * asked; 78 where the configuration cannot be used.
 */

const HELP = `npm run check -- [--settled] [--json]
npm run check -- --list
In an image: node dist/worker/cli/check/main.js [--settled] [--json]

Checks the database against all that must be true of it, in one snapshot, and changes nothing. Tells of each invariant
whether it holds and how long that took to find out; then what breaks it, the first 20 of each, and what is known of
the accounts that this is about. All it needs is DATABASE_URL; without it, it finds the service that npm start runs on
DATA_DIR (.data unless set).

  --settled  also what holds only once nothing is under way: in a live service these may be broken for a moment
  --json     the same as JSON, with up to 1000 of each; of npm without its own two lines: npm run --silent check -- --json
  --list     say what the invariants are; this needs no configuration

Ends with
   0  all holds
   1  something does not
   2  it was called wrongly
  69  the database cannot be asked: it is out of reach, refuses, allows too little time, or is not of this version
  78  the configuration cannot be used`;

runMain(main);

async function main(): Promise<void> {
  const options = parseCheckOptions();
  if (options.list) print(formatInvariantList(INVARIANTS));
  else await checkDatabase(options.settled === true, options.json === true);
}

function parseCheckOptions() {
  const options = {
    settled: { type: 'boolean' },
    json: { type: 'boolean' },
    list: { type: 'boolean' },
  } as const;
  return readCommandLine('npm run check', HELP, options);
}

async function checkDatabase(isSettled: boolean, isJson: boolean): Promise<void> {
  // Only now, so that --help and --list need no configuration.
  const { checkIntegrity, CheckUnavailableError } = await import(
    '../../../shared/domain/credits/integrity/checkIntegrity.ts'
  );
  const { openCommandService } = await import('../commandService.ts');
  const service = await openCommandService(process.env, 'check');
  let isHeaderPrinted = false;
  try {
    const report = await checkIntegrity(isSettled, (checked) => {
      if (isJson) return;
      if (!isHeaderPrinted) print(formatHeader());
      isHeaderPrinted = true;
      print(formatRow(checked));
    });
    print(isJson ? formatJson(report, isSettled) : `\n${formatReport(report, isSettled)}`);
    process.exitCode = report.results.every(({ violations }) => violations.length === 0) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CheckUnavailableError)) throw error;
    printError(error.message, 69);
  } finally {
    await service.close();
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printError(text: string, status: number): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = status;
}
