import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import type { BillingStatus, BillingStatusDetails } from '../../presenters/billingStatus.ts';
import { Account } from '../../tables/Account.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { readBillingStatus } from './billingStatus.ts';

/**
 * Runs a change of a locked account, and records `subscription.updated` if the stored billing status differs
 * afterwards. A status that changes with time alone is followed by a sync, which stores the change: a plan that had
 * lapsed by then was shown as ended before, so what is shown is not compared.
 */
export async function recordSubscriptionChange<Result>(
  transaction: Transaction,
  account: Account,
  change: () => PromiseLike<Result>,
): Promise<Result> {
  const { id: accountId, webhook_count: webhookCount } = account;
  if (webhookCount === 0) return change();
  const before = await describeStored(transaction, account);
  const result = await change();
  const changed = await Account.query(transaction).findById(accountId).throwIfNotFound();
  if (isDeepStrictEqual(before, await describeStored(transaction, changed))) return result;
  const details = describeStatus(await readBillingStatus(changed, transaction));
  await recordEvent(transaction, {
    accountId,
    type: 'subscription.updated',
    subject: uuidv7(),
    details: { ...details },
  });
  return result;
}

/** Runs a transaction that holds the account's lock and may change its subscription. */
export function changeSubscription<Result>(
  accountId: number,
  work: (transaction: Transaction, account: Account) => Promise<Result>,
): Promise<Result> {
  return withAccountLock(accountId, (transaction, account) =>
    recordSubscriptionChange(transaction, account, () => work(transaction, account)),
  );
}

/** The status that is stored, whatever the time is: no plan has lapsed. */
async function describeStored(transaction: Transaction, account: Account): Promise<BillingStatusDetails> {
  return describeStatus(await readBillingStatus(account, transaction, new Date(0)));
}

/** The status in the form of an event's details, so that each event shows the state after its change. */
function describeStatus(status: BillingStatus): BillingStatusDetails {
  return {
    plan_slug: status.plan?.slug ?? null,
    status: status.status,
    current_period_end: status.currentPeriodEnd?.toISOString() ?? null,
    cancel_at_period_end: status.cancelAtPeriodEnd,
    has_payment_method: status.hasPaymentMethod,
  };
}
