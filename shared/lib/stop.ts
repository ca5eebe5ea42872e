import { logger } from './logger.ts';

/** A platform kills what has not stopped after 30 s; so do we, a little earlier and with a word about it. */
const PATIENCE_MS = 25_000;

/** On the first SIGTERM or SIGINT runs `stop`, then ends the process; a second one ends it at once. */
export function onStopSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const handle = (signal: NodeJS.Signals) => {
    if (stopping) end(1);
    stopping = true;
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error('not stopped in time');
      end(1);
    }, PATIENCE_MS).unref();
    stop().then(
      () => end(0),
      (error: unknown) => {
        logger.error({ err: error }, 'stopped with an error');
        end(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}

function end(status: number): void {
  logger.flush();
  process.exit(status);
}
