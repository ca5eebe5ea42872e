import { logger } from './logger.ts';

/** Below the 30 s after which platforms kill a process, so that a shutdown that hangs is logged. */
const SHUTDOWN_TIMEOUT_MS = 25_000;

/**
 * Runs `shutDown` on the first SIGTERM or SIGINT, then exits. A second signal exits immediately.
 * @param drainMs time that `shutDown` waits before it stops anything, which the platform must allow in addition.
 */
export function onShutdownSignal(shutDown: () => Promise<void>, drainMs = 0): void {
  const timeoutMs = SHUTDOWN_TIMEOUT_MS + drainMs;
  let isShuttingDown = false;
  const handle = (signal: NodeJS.Signals) => {
    if (isShuttingDown) exitProcess(1);
    isShuttingDown = true;
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error({ timeoutMs }, 'shutdown timed out');
      exitProcess(1);
    }, timeoutMs).unref();
    shutDown().then(
      () => exitProcess(0),
      (error: unknown) => {
        logger.error({ err: error }, 'shutdown failed');
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
