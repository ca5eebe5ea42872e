import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { getErrorMessage } from './servers/errorDetails.ts';
import { runStack } from './stack/runStack.ts';
import { loadEnvFile, readSettings } from './stack/settings.ts';

const USAGE = `npm start

Runs the whole service on this machine until Ctrl-C: Postgres, Redis, a sample upstream, worker and API. It takes no
options: settings are environment variables, which may be in a file .env. The most used ones:

  PORT            port of the API; default 3000
  DATA_DIR        folder of all data; default .data
  STAFF_EMAILS    email addresses of the accounts that may open /admin/
  METRICS_PORT    port of the Prometheus metrics; unset, there are none

docs/configuration.md lists all of them.`;

/** `npm start`: runs the whole service on one machine, without any prerequisites, until Ctrl-C. */
readCommandLine('npm start', USAGE, {});
try {
  loadEnvFile();
  process.exitCode = await runStack(await readSettings());
} catch (error) {
  console.error(getErrorMessage(error));
  process.exitCode = 1;
}
process.exit();
