import { ConfigError } from './config.ts';

/** The status that a process ends with when its configuration cannot be used; starting it again would not help. */
const EXIT_CONFIG = 78;

/**
 * Runs the main function of a program. A configuration that cannot be used ends the process with status 78 and its
 * sentence on stderr; any other error with status 1. The only place where a process ends because of an error.
 */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof ConfigError ? error.message : (error as Error).stack}\n`);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1);
  });
}
