import type { Transaction } from 'objection';
import { ProcessorError } from '../../gateways/payments/index.ts';
import { prepared, run } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { lockAccount } from '../credits.ts';

/**
 * What a look at the payment processor means to an account. Looking is done first and without any lock; what it means
 * is worked out and written under the account's lock, against what the database says by then.
 */
export interface Effect {
  accountId: number;
  /** Why only a part of it could be worked out. The event stays unapplied, so that it is retried once that is mended. */
  problem?: string;
  /** May find that there is nothing to do. @returns what is left to be done at the processor, if anything. */
  apply(transaction: Transaction, account: Account): Promise<AfterCommit | undefined>;
}

/** Two effects of one look, on the same account: either may be none. */
export function both(first: Effect | null, second: Effect | null): Effect | null {
  if (first === null || second === null) return first ?? second;
  return {
    accountId: first.accountId,
    problem: first.problem ?? second.problem,
    apply: async (transaction, account) => {
      // The second one reads nothing of the account that the first one changes.
      const [left, alsoLeft] = [await first.apply(transaction, account), await second.apply(transaction, account)];
      if (left === undefined || alsoLeft === undefined) return left ?? alsoLeft;
      return async () => {
        await left();
        await alsoLeft();
      };
    },
  };
}

/** An effect that could not be worked out. */
export function unresolved(accountId: number, problem: string): Effect {
  return { accountId, problem, apply: async () => undefined };
}

/** Carries out right away what the transaction has recorded as state: where it fails, a sweep finds that state. */
export type AfterCommit = () => Promise<void>;

/**
 * Applies an effect.
 * @param mark writes down in the same transaction that it was; false where it had been before.
 */
export async function carryOut(
  effect: Effect,
  mark: (transaction: Transaction) => Promise<boolean> = async () => true,
): Promise<void> {
  const afterCommit = await Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, effect.accountId);
    if (!(await mark(transaction))) return undefined;
    return effect.apply(transaction, account);
  });
  try {
    await afterCommit?.();
  } catch (error) {
    const level = error instanceof ProcessorError ? 'warn' : 'error';
    logger[level](
      { accountId: effect.accountId, error: (error as Error).message },
      'follow-up failed; sweep will retry',
    );
  }
}

/**
 * Looks, and applies what follows from it. One look that fails does not keep the next from being taken.
 * @returns whether it came about.
 */
export async function attempt(look: () => Promise<Effect | null>): Promise<boolean> {
  try {
    const effect = await look();
    if (effect !== null) await carryOut(effect);
    return true;
  } catch (error) {
    const level = error instanceof ProcessorError ? 'warn' : 'error';
    logger[level]({ error: (error as Error).message }, 'not reconciled; will be looked at again');
    return false;
  }
}

const TICKET = prepared('sync_ticket', `SELECT nextval('sync_tickets') AS ticket`);

/**
 * Taken before a look at the processor. Of two looks the one with the later ticket is applied last, or alone: it began
 * after the other, and each change is followed by a look that begins after it.
 */
export async function takeTicket(): Promise<number> {
  const [row] = await run<{ ticket: number }>(TICKET, {});
  return (row as { ticket: number }).ticket;
}
