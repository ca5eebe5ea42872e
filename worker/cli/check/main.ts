import { INVARIANTS } from '../../../shared/domain/integrity/index.ts';
import { readCommandLine } from '../../../shared/lib/commandLine.ts';
import { runMain } from '../../../shared/lib/runMain.ts';
import { formatJson, formatHeader, formatReport, formatRow, formatInvariantList } from './report.ts';

/**
 * Integrity check: `npm run check`, in a deployment `node dist/worker/cli/check/main.js`. It is separate from
 * `npm run admin`, because it takes no account, changes nothing, and reports through its exit code: 0 all invariants
 * hold; 1 violations found; 2 invalid arguments; 69 database unavailable; 78 invalid configuration.
 */

const HELP = `npm run check -- [--drained] [--json]
npm run check -- --list
In an image: node dist/worker/cli/check/main.js [--drained] [--json]

Checks the invariants of the database in one snapshot, and changes nothing. Prints the result and duration of each
invariant, then the first 20 violations of each and the history of the accounts concerned. It requires DATABASE_URL;
without it, it uses the service that npm start runs on DATA_DIR (default: .data).

  --drained  also check invariants that hold only when no work is in progress; a live service can violate them briefly
  --json     print JSON, with up to 1000 violations of each; to omit npm's own output: npm run --silent check -- --json
  --list     list the invariants; requires no configuration

Exit codes
   0  all invariants hold
   1  violations found
   2  invalid arguments
  69  database unavailable: unreachable, access denied, timeout too short, or not of this version
  78  invalid configuration`;

runMain(main);

async function main(): Promise<void> {
  const options = parseCheckOptions();
  if (options.list) print(formatInvariantList(INVARIANTS));
  else await checkDatabase(options.drained === true, options.json === true);
}

function parseCheckOptions() {
  const options = {
    drained: { type: 'boolean' },
    json: { type: 'boolean' },
    list: { type: 'boolean' },
  } as const;
  return readCommandLine('npm run check', HELP, options);
}

async function checkDatabase(isDrained: boolean, isJson: boolean): Promise<void> {
  // Imported here, so that --help and --list require no configuration.
  const { checkIntegrity, CheckUnavailableError } = await import('../../../shared/domain/integrity/checkIntegrity.ts');
  const { openCommandService } = await import('../commandService.ts');
  const service = await openCommandService(process.env, 'check');
  let isHeaderPrinted = false;
  try {
    const report = await checkIntegrity(isDrained, (checked) => {
      if (isJson) return;
      if (!isHeaderPrinted) print(formatHeader());
      isHeaderPrinted = true;
      print(formatRow(checked));
    });
    print(isJson ? formatJson(report, isDrained) : `\n${formatReport(report, isDrained)}`);
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
