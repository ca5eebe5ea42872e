import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Runs a program of the service in this process, and ends it when its launcher is gone: the launcher holds the other
 * end of our stdin, which the system closes however the launcher ends. So no API is left behind on the port, and the
 * programs themselves need not know that there is a launcher.
 */
const SHUTDOWN_TIMEOUT_MS = 5_000;

const program = process.argv[2];
if (program === undefined) throw new Error('Name the program to run.');

process.stdin.on('error', () => {});
process.stdin.on('close', () => {
  // The program's own handler, if it has one by now, ends it in order; without one this ends it at once.
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), SHUTDOWN_TIMEOUT_MS).unref();
});
process.stdin.resume();
// Only listened to: by itself it is no reason to go on living.
process.stdin.unref();

await import(pathToFileURL(resolve(program)).href);
