import type { Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import type { Account } from '../../tables/Account.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { FOLLOW_UP_SWEEP_GRACE_MS } from './followUps.ts';
import { syncInvoiceReversals } from './invoices.ts';
import {
  buildDisputedRefundRetry,
  buildFailedRefundRetry,
  buildRefundRetry,
  REFUND_BATCH_SIZE,
} from './refundRetries.ts';
import { isRefundable, oweTopupRefund } from './topupRefunds.ts';

/** After this many attempts, an amount that the processor does not list was not paid through it. */
const INCOMPLETE_ATTEMPTS = 3;
/** Reasons for which staff have to pay the customer back by hand. */
const REJECTION_REASONS = {
  refused: 'The processor does not refund a charge after a dispute that was won.',
  incomplete: 'Only a part of the invoice was paid through the processor, and only that part is refunded.',
};

/**
 * Records that invoices of a subscription are to be refunded, once each, in the transaction that decides it.
 * @param doubt why staff have to decide instead; none is refunded then.
 */
export async function recordOwedRefunds(
  transaction: Transaction,
  subscription: Pick<Subscription, 'id' | 'account_id'>,
  invoiceIds: string[],
  doubt: string | null = null,
): Promise<void> {
  if (invoiceIds.length === 0) return;
  const at = now();
  const rows = invoiceIds.map((id) => ({
    invoice_id: id,
    subscription_id: subscription.id,
    account_id: subscription.account_id,
    next_attempt_at: addMilliseconds(at, FOLLOW_UP_SWEEP_GRACE_MS),
    created_at: at,
    ...(doubt === null ? {} : { status: 'rejected' as const, last_error: doubt, completed_at: at }),
  }));
  await OwedRefund.query(transaction).insert(rows).onConflict('invoice_id').ignore();
}

/**
 * Records that what was paid for a locked account since the request of its deletion is to be refunded: it was erased
 * before that was of use. Called at the erasure, and for payments of subscriptions that arrive later.
 */
export async function oweBackAfterDeletion(transaction: Transaction, account: Account): Promise<void> {
  const { id: accountId, deletion_requested_at: requestedAt } = account;
  if (requestedAt === null) return;
  const unused = await Invoice.query(transaction)
    .where({ account_id: accountId, kind: 'subscription', status: 'paid' })
    .whereNotNull('stripe_invoice_id')
    .where('paid_at', '>', requestedAt)
    .whereColumn('refunded_cents', '<', 'total_cents');
  for (const { subscription_id: id, stripe_invoice_id: invoiceId } of unused) {
    const subscription = { id: id as number, account_id: accountId };
    await recordOwedRefunds(transaction, subscription, [invoiceId as string]);
  }
  const topups = await Topup.query(transaction)
    .where({ account_id: accountId, status: 'succeeded' })
    .where('completed_at', '>', requestedAt);
  for (const topup of topups.filter(isRefundable)) await oweTopupRefund(transaction, topup, 'erased');
}

/** Issues the owed refunds of a subscription, ahead of the sweep. */
export async function issueSubscriptionRefunds({ id }: Subscription): Promise<void> {
  for (const owed of await OwedRefund.query().where({ subscription_id: id, status: 'owed' })) await issueRefund(owed);
}

/** Issues refunds that are due: a process died, or the processor was unavailable. */
export async function issueDueRefunds(): Promise<void> {
  if (processor.isSimulated) return;
  const due = await OwedRefund.query()
    .where({ status: 'owed' })
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(REFUND_BATCH_SIZE);
  for (const owed of due) await issueRefund(owed);
}

/** Refunds an invoice. May be repeated at any time, as the processor refunds a payment once. */
async function issueRefund(owed: OwedRefund): Promise<void> {
  const { invoice_id: invoiceId, account_id: accountId } = owed;
  const row = () => OwedRefund.query().where({ invoice_id: invoiceId, status: 'owed' });
  const attempts = owed.attempts + 1;
  try {
    const outcome = await processor.refundInvoice(invoiceId);
    if (outcome === 'disputed') {
      await row().patch(buildDisputedRefundRetry(attempts));
      return;
    }
    // The processor may list a payment some time after it was made.
    if (outcome === 'incomplete' && attempts < INCOMPLETE_ATTEMPTS) {
      await row().patch(buildRefundRetry(attempts, REJECTION_REASONS.incomplete));
      return;
    }
    const reason = outcome === 'refunded' ? null : REJECTION_REASONS[outcome];
    // First, as nothing repeats it once the row is closed.
    if (reason === null) await syncInvoiceReversals(invoiceId);
    await row().patch({
      status: reason === null ? 'refunded' : 'rejected',
      attempts,
      last_error: reason,
      completed_at: now(),
    });
    if (reason !== null)
      logger.error({ invoiceId, accountId, reason }, 'owed refund rejected; pay the customer back by hand');
    else logger.info({ invoiceId, accountId }, 'owed refund issued');
  } catch (err) {
    await row().patch(buildFailedRefundRetry(attempts, err, { invoiceId, accountId }));
  }
}

/**
 * Records that an issued refund failed later at the bank: the money is back with the service, and staff decide. A
 * refund that is still owed stays owed, as the one that failed was another one.
 */
export async function markRefundFailed(invoiceId: string): Promise<void> {
  await OwedRefund.query()
    .findById(invoiceId)
    .where({ status: 'refunded' })
    .patch({ status: 'rejected', last_error: 'The refund failed at the bank.', completed_at: now() });
}
