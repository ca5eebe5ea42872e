import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Runs a program of the service in this process, and ends it when its launcher has died: the launcher holds the other
 * end of our stdin, which the system closes however the launcher ends. So no API is left behind on the port, and the
 * programs themselves do not depend on a launcher.
 */
const SHUTDOWN_TIMEOUT_MS = 5_000;

const program = process.argv[2];
if (program === undefined) throw new Error('Name the program to run.');

process.stdin.on('error', () => {});
process.stdin.on('close', () => {
  // The program's own handler, if it is installed by now, shuts down gracefully; otherwise the signal ends the process.
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), SHUTDOWN_TIMEOUT_MS).unref();
});
process.stdin.resume();
// Listening alone must not keep the process alive.
process.stdin.unref();

// As if the program had been started directly: it parses its own arguments.
process.argv.splice(1, 1);
await import(pathToFileURL(resolve(program)).href);
