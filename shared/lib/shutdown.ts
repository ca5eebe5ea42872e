import { logger } from './logger.ts';

/** A platform kills what has not stopped after 30 s; so do we, a little earlier and with a word about it. */
const SHUTDOWN_TIMEOUT_MS = 25_000;

/** On the first SIGTERM or SIGINT runs `stop`, then ends the process; a second one ends it at once. */
export function onShutdownSignal(shutDown: () => Promise<void>): void {
  let isShuttingDown = false;
  const handle = (signal: NodeJS.Signals) => {
    if (isShuttingDown) exitProcess(1);
    isShuttingDown = true;
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error('not stopped in time');
      exitProcess(1);
    }, SHUTDOWN_TIMEOUT_MS).unref();
    shutDown().then(
      () => exitProcess(0),
      (error: unknown) => {
        logger.error({ err: error }, 'stopped with an error');
        exitProcess(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}

function exitProcess(status: number): void {
  logger.flush();
  process.exit(status);
}
