import type { Transaction } from 'objection';
import { ProcessorError } from '../../gateways/payments/index.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { lockAccount } from '../credits/ledger.ts';

/**
 * What a look at the payment processor means to an account. Looking is done first and without any lock; what it means
 * is worked out and written under the account's lock, against what the database says by then.
 */
export interface AccountChange {
  accountId: number;
  /** Why only a part of it could be worked out. The event stays unapplied, so that it is retried once that is mended. */
  problem?: string;
  /** May find that there is nothing to do. @returns what is left to be done at the processor, if anything. */
  apply(transaction: Transaction, account: Account): Promise<AfterCommit | undefined>;
}

/** Two effects of one look, on the same account: either may be none. */
export function combineChanges(first: AccountChange | null, second: AccountChange | null): AccountChange | null {
  if (first === null || second === null) return first ?? second;
  return {
    accountId: first.accountId,
    problem: first.problem ?? second.problem,
    apply: async (transaction, account) => {
      // The second one reads nothing of the account that the first one changes.
      const [firstFollowUp, secondFollowUp] = [
        await first.apply(transaction, account),
        await second.apply(transaction, account),
      ];
      if (firstFollowUp === undefined || secondFollowUp === undefined) return firstFollowUp ?? secondFollowUp;
      return async () => {
        await firstFollowUp();
        await secondFollowUp();
      };
    },
  };
}

/** An effect that could not be worked out. */
export function unresolvedChange(accountId: number, problem: string): AccountChange {
  return { accountId, problem, apply: async () => undefined };
}

/** Carries out right away what the transaction has recorded as state: where it fails, a sweep finds that state. */
export type AfterCommit = () => Promise<void>;

/**
 * Applies an effect.
 * @param markApplied writes down in the same transaction that it was; false where it had been before.
 */
export async function applyChange(
  change: AccountChange,
  markApplied: (transaction: Transaction) => Promise<boolean> = async () => true,
): Promise<void> {
  const afterCommit = await Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, change.accountId);
    if (!(await markApplied(transaction))) return undefined;
    return change.apply(transaction, account);
  });
  try {
    await afterCommit?.();
  } catch (error) {
    const level = error instanceof ProcessorError ? 'warn' : 'error';
    logger[level](
      { accountId: change.accountId, error: (error as Error).message },
      'follow-up failed; sweep will retry',
    );
  }
}

/**
 * Looks, and applies what follows from it. One look that fails does not keep the next from being taken.
 * @returns whether it came about.
 */
export async function tryApply(fetchChange: () => Promise<AccountChange | null>): Promise<boolean> {
  try {
    const change = await fetchChange();
    if (change !== null) await applyChange(change);
    return true;
  } catch (error) {
    const level = error instanceof ProcessorError ? 'warn' : 'error';
    logger[level]({ error: (error as Error).message }, 'not reconciled; will be looked at again');
    return false;
  }
}

/** Runs the parts of a job one after the other. One that fails does not keep the next from its turn. */
export async function runSteps(steps: (() => Promise<void>)[]): Promise<void> {
  let failure: unknown;
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      logger.warn({ step: step.name, error: (error as Error).message }, 'part of a job failed; will be tried again');
      failure = error;
    }
  }
  if (failure !== undefined) throw failure;
}

const NEXT_SYNC_VERSION = prepared('sync_version', `SELECT nextval('sync_versions') AS ticket`);

/**
 * Taken before a look at the processor. Of two looks the one with the later ticket is applied last, or alone: it began
 * after the other, and each change is followed by a look that begins after it.
 */
export async function nextSyncVersion(): Promise<number> {
  const [row] = await runStatement<{ ticket: number }>(NEXT_SYNC_VERSION, {});
  return (row as { ticket: number }).ticket;
}
