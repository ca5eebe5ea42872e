import type { Transaction } from 'objection';
import { ProcessorError, processor, type SubscriptionInvoice } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import type { Subscription } from '../../tables/Subscription.ts';

const BATCH_SIZE = 200;
const DAY_MS = 86_400_000;
const RETRY_BACKOFF_MS = { least: 30_000, most: 3_600_000 };
/** Left to the process that wrote the row before the sweep finds it. */
const GRACE_MS = 30_000;

/** Records that invoices are to be refunded, once each, in the transaction that decides so. */
export async function oweRefunds(
  transaction: Transaction,
  subscription: Subscription,
  invoices: SubscriptionInvoice[],
): Promise<void> {
  if (invoices.length === 0) return;
  const at = now();
  const rows = invoices.map(({ id }) => ({
    invoice_id: id,
    subscription_id: subscription.id,
    account_id: subscription.account_id,
    due_at: addMilliseconds(at, GRACE_MS),
    created_at: at,
  }));
  await OwedRefund.query(transaction).insert(rows).onConflict('invoice_id').ignore();
}

/** Carries out the refunds of a subscription that are owed, ahead of the sweep. */
export async function refundSubscription({ id }: Subscription): Promise<void> {
  for (const owed of await OwedRefund.query().where({ subscription_id: id, status: 'owed' }))
    await carryOutRefund(owed);
}

/** Carries out refunds that are due: a process died, or the processor could not be reached. */
export async function settleOwedRefunds(): Promise<void> {
  if (processor.isSimulated) return;
  const due = await OwedRefund.query()
    .where({ status: 'owed' })
    .where('due_at', '<=', now())
    .orderBy('due_at')
    .limit(BATCH_SIZE);
  for (const owed of due) await carryOutRefund(owed);
}

/** Refunds an invoice. May be repeated at any time: the processor refunds a payment once. */
async function carryOutRefund(owed: OwedRefund): Promise<void> {
  const { invoice_id: invoiceId, account_id: accountId } = owed;
  const row = () => OwedRefund.query().where({ invoice_id: invoiceId, status: 'owed' });
  const attempts = owed.attempts + 1;
  try {
    const outcome = await processor.refundInvoice(invoiceId);
    if (outcome === 'disputed') {
      const problem = 'A dispute is open. It decides whether anything is left to refund.';
      await row().patch({ attempts, problem, due_at: addMilliseconds(now(), DAY_MS) });
      return;
    }
    const problem = outcome === 'lost' ? 'The processor refunds nothing of a charge that was disputed.' : null;
    await row().patch({
      status: outcome === 'lost' ? 'refused' : 'refunded',
      attempts,
      problem,
      completed_at: now(),
    });
    if (problem !== null) logger.error({ invoiceId, accountId, problem }, 'an owed refund is refused');
    else logger.info({ invoiceId, accountId }, 'an owed refund is carried out');
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    const waitMs = Math.min(RETRY_BACKOFF_MS.most, RETRY_BACKOFF_MS.least * 2 ** Math.min(attempts - 1, 10));
    const problem = error.message.slice(0, 500);
    logger[error.fault === 'refused' ? 'error' : 'warn'](
      { invoiceId, accountId, problem },
      'refund failed; will retry',
    );
    await row().patch({ attempts, problem, due_at: addMilliseconds(now(), waitMs) });
  }
}

/** Notes that a refund which was carried out failed later: the money is with us again, and staff decide. */
export async function noteFailedRefund(invoiceId: string): Promise<void> {
  await OwedRefund.query()
    .findById(invoiceId)
    .patch({ status: 'refused', problem: 'The refund failed at the bank.', completed_at: now() });
}
