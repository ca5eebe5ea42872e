import { pino } from 'pino';
import { config } from './config.ts';
import { trailOf } from './trail.ts';

/**
 * Structured logs, one JSON object a line on stdout. What may be logged is chosen at each call:
 * no header, body, query string, cookie or key ever is.
 */
export const logger = pino(
  {
    level: config.LOG_LEVEL,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: bare },
    mixin: trailOf,
  },
  pino.destination({ dest: 1, sync: false, minLength: 0 }),
);

/** An error of the database may quote the row that it refused, prompt and all. */
function bare({ name, message, code, stack }: Error & { code?: string }) {
  return { name, message, code, stack };
}

export type Logger = typeof logger;
