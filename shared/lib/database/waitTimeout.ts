import type { WaitTimeout } from '../batcher.ts';
import { config } from '../config.ts';

/** A statement that was never sent: earlier ones occupied the database until the timeout. */
class QueueTimeoutError extends Error {
  readonly code = 'EQUEUETIMEOUT';
}

/** Limits the wait for a batch of statements to the same time as the wait for a connection. */
export const DB_WAIT_TIMEOUT: WaitTimeout = {
  get timeoutMs() {
    return config.DATABASE_TIMEOUT_MS;
  },
  createError: () => new QueueTimeoutError('timed out waiting for a database connection'),
};
