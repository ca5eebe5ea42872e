import { type DestinationStream, pino } from 'pino';
import { config } from './config.ts';
import { getLogContext } from './logContext.ts';

export type Logger = ReturnType<typeof createLogger>;

/**
 * Structured logs, one JSON object a line on stdout. What may be logged is chosen at each call:
 * no header, body, query string, cookie or key ever is. Silent until {@link openLogger} was called.
 */
export let logger: Logger = createLogger('silent', { write: () => {} });

/** Opens the log of the service. @param destination default: stdout. */
export function openLogger(destination?: DestinationStream): void {
  logger = createLogger(config.LOG_LEVEL, destination ?? pino.destination({ dest: 1, sync: false, minLength: 0 }));
}

function createLogger(level: string, destination: DestinationStream) {
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: serializeError },
      mixin: getLogContext,
    },
    destination,
  );
}

/** An error of the database may quote the row that it refused, prompt and all. */
function serializeError({ name, message, code, stack }: Error & { code?: string }) {
  return { name, message, code, stack };
}
