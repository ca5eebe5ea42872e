import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { getErrorMessage } from './servers/errorDetails.ts';
import { runStack } from './stack/runStack.ts';
import { loadEnvFile, readSettings } from './stack/settings.ts';

const USAGE = `npm start

Runs the whole service on this machine until ctrl-C: Postgres, Redis, a sample upstream, worker and API. It takes no
options: settings are environment variables, also from a file .env. The most used:

  PORT            of the API; 3000 unless set
  DATA_DIR        where everything is kept; .data unless set
  STAFF_EMAILS    who may open /admin/, by the address that they sign in with
  METRICS_PORT    where the metrics are, for Prometheus; without it, nowhere

docs/configuration.md lists all of them.`;

/** `npm start`: the whole service on one machine, from nothing, until ctrl-C. */
readCommandLine('npm start', USAGE, {});
try {
  loadEnvFile();
  process.exitCode = await runStack(await readSettings());
} catch (error) {
  console.error(getErrorMessage(error));
  process.exitCode = 1;
}
process.exit();
