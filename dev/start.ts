import { messageOf } from './servers/failures.ts';
import { runStack } from './stack/run.ts';
import { loadEnvFile, readSettings } from './stack/settings.ts';

/** `npm start`: the whole service on one machine, from nothing, until ctrl-C. */
try {
  loadEnvFile();
  process.exitCode = await runStack(await readSettings());
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
process.exit();
