import { logger } from '../logger.ts';
import { isDeadlock } from './errors.ts';

/**
 * Runs work in Postgres, and once more after a deadlock, which ends it without a change.
 * @param name of the statement, or of the change, for the log.
 */
export async function repeatOnDeadlock<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!isDeadlock(error)) throw error;
    logger.warn({ statement: name }, 'deadlock detected; statement is repeated');
    return run();
  }
}
