import { ConfigError } from './config.ts';

/** Exit status for an invalid configuration (EX_CONFIG of sysexits.h). A restart would not help. */
const EXIT_CONFIG = 78;

/**
 * Runs the main function of a program. An invalid configuration exits with status 78 and its message on stderr, any
 * other error with status 1. No other place ends a process because of an error.
 */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof ConfigError ? error.message : (error as Error).stack}\n`);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1);
  });
}
