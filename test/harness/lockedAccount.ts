import type { PoolClient } from 'pg';
import { eventually, type TestService } from './testService.ts';

/**
 * Runs work while another transaction holds the lock of an account, which it then commits.
 * @param work returns once everything that is to wait for the account does; what it changes by `holder` is committed.
 */
export async function whileAccountIsLocked<Result>(
  service: TestService,
  accountId: number,
  work: (holder: PoolClient) => Promise<Result>,
): Promise<Result> {
  const holder = await service.database.connect();
  let isCommitted = false;
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    const result = await work(holder);
    await holder.query('COMMIT');
    isCommitted = true;
    return result;
  } finally {
    // Otherwise the connection ends, and its transaction with it.
    holder.release(!isCommitted);
  }
}

/** Waits until as many statements wait for a lock. */
export function waitForLockWaits(service: TestService, least = 1): Promise<void> {
  return eventually('the request waits for the account', async () => (await service.countLockWaits()) >= least);
}
