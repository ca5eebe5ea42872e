import pLimit, { type LimitFunction } from 'p-limit';
import type { WaitTimeout } from './batcher.ts';
import { perService } from './serviceScope.ts';

/** Runs work on an account once one of the slots of the account is free. */
export type AccountSlots = <Result>(accountId: number, work: () => Promise<Result>) => Promise<Result>;

/**
 * Creates slots for a kind of work that one account must not fill a process with: each account has `count`, and what
 * waits for one occupies nothing. Only accounts that use or wait for a slot occupy memory.
 * @param waitTimeout rejects work that has not begun in time. Without it, work waits indefinitely.
 */
export function createAccountSlots(count: number, waitTimeout?: WaitTimeout): AccountSlots {
  const slots = perService(() => new Map<number, { limit: LimitFunction; users: number }>());
  return async (accountId, work) => {
    const accounts = slots();
    const account = accounts.get(accountId) ?? { limit: pLimit(count), users: 0 };
    accounts.set(accountId, account);
    account.users += 1;
    try {
      return await (waitTimeout === undefined ? account.limit(work) : startInTime(account.limit, work, waitTimeout));
    } finally {
      account.users -= 1;
      if (account.users === 0) accounts.delete(accountId);
    }
  };
}

function startInTime<Result>(
  limit: LimitFunction,
  work: () => Promise<Result>,
  { timeoutMs, createError }: WaitTimeout,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(createError());
    }, timeoutMs);
    void limit(async () => {
      clearTimeout(timer);
      if (!isLate) await work().then(resolve, reject);
    });
  });
}
