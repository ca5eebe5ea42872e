import pLimit, { type LimitFunction } from 'p-limit';
import { perService } from '../../lib/serviceScope.ts';

/** Number of images of one account that a process prepares at a time. */
const SLOTS = 3;

const slots = perService(() => new Map<number, { limit: LimitFunction; users: number }>());

/**
 * Fetches or decodes an image of an account once one of its slots is free. The decoder works on one image at a time, so
 * that the images of one account must not fill its queue.
 */
export async function withAccountSlot<Result>(accountId: number, prepare: () => Promise<Result>): Promise<Result> {
  const accounts = slots();
  const account = accounts.get(accountId) ?? { limit: pLimit(SLOTS), users: 0 };
  accounts.set(accountId, account);
  account.users += 1;
  try {
    return await account.limit(prepare);
  } finally {
    account.users -= 1;
    if (account.users === 0) accounts.delete(accountId);
  }
}
