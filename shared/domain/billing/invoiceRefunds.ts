import type { Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import type { Account } from '../../tables/Account.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { syncInvoiceReversals } from './invoices.ts';
import { PROCESSOR_TASK, waitForDispute, withProcessor } from './processorTasks.ts';
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
    created_at: at,
    ...(doubt === null ? {} : { status: 'rejected' as const, last_error: doubt, completed_at: at }),
  }));
  await OwedRefund.query(transaction).insert(rows).onConflict('invoice_id').ignore();
  if (doubt !== null) return;
  const tasks = invoiceIds.map((key) => ({ key, accountId: subscription.account_id }));
  await scheduleTasks(transaction, REFUND_INVOICE.name, tasks);
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

/** Refunds an invoice, whose id at the processor is the key. The processor refunds a payment once. */
export const REFUND_INVOICE: TaskKind = {
  ...PROCESSOR_TASK,
  name: 'invoice.refund',
  waiting: `SELECT account_id, invoice_id AS key FROM owed_refunds WHERE status = 'owed'`,
  run: withProcessor(async ({ key: invoiceId, attempts }) => {
    const owed = await OwedRefund.query().findOne({ invoice_id: invoiceId, status: 'owed' });
    if (owed === undefined) return undefined;
    const outcome = await processor.refundInvoice(invoiceId);
    if (outcome === 'disputed') return waitForDispute();
    // The processor may list a payment some time after it was made.
    if (outcome === 'incomplete' && attempts + 1 < INCOMPLETE_ATTEMPTS) throw new Error(REJECTION_REASONS.incomplete);
    const reason = outcome === 'refunded' ? null : REJECTION_REASONS[outcome];
    // First, as nothing repeats it once the row is closed.
    if (reason === null) await syncInvoiceReversals(invoiceId);
    await OwedRefund.query()
      .findById(invoiceId)
      .where({ status: 'owed' })
      .patch({ status: reason === null ? 'refunded' : 'rejected', last_error: reason, completed_at: now() });
    const context = { invoiceId, accountId: owed.account_id, reason };
    if (reason === null) logger.info(context, 'owed refund issued');
    else logger.error(context, 'owed refund rejected; pay the customer back by hand');
    return undefined;
  }),
};

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
