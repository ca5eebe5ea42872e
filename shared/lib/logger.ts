import { type DestinationStream, pino } from 'pino';
import { config } from './config.ts';
import { getLogContext } from './logContext.ts';

export type Logger = ReturnType<typeof createLogger>;

/**
 * Structured log: one JSON object per line on stdout. Each call chooses its fields; headers, bodies, query strings,
 * cookies and keys are never logged. Silent until {@link openLogger} was called.
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

/** Drops the other fields of database errors: they may quote the rejected row, including its prompt. */
function serializeError({ name, message, code, stack }: Error & { code?: string }) {
  return { name, message, code, stack };
}
