import { ProcessorError, processor, type TopupInvoice } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { getNextAttemptByAge } from '../../lib/retryBackoff.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { Topup } from '../../tables/Topup.ts';
import { nextSyncVersion, withAccountLock } from '../payments/accountSnapshot.ts';
import { trySync } from '../payments/processorErrors.ts';
import { applyTopupInvoice, type InvoiceSnapshot } from './invoices.ts';

const BATCH_SIZE = 100;
const RETRY_BACKOFF = { minMs: MINUTE_MS, maxMs: HOUR_MS };
/** An invoice that the processor rejects or does not have is given up after this time. */
const GIVE_UP_AFTER_MS = 3 * DAY_MS;

/**
 * Completes the invoices of paid top-ups: issues those of automatic ones at the processor, and searches for those of
 * pages whose event did not arrive. The row is the outbox, and nothing is charged, so that an attempt may be interrupted
 * and repeated at any time.
 */
export async function completeDueInvoices(): Promise<void> {
  if (processor.isSimulated) return;
  const due = await Invoice.query()
    .where({ kind: 'topup' })
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(BATCH_SIZE);
  for (const invoice of due) await trySync(() => completeInvoice(invoice));
}

async function completeInvoice(invoice: Invoice): Promise<void> {
  const topup = await Topup.query()
    .findById(invoice.topup_uuid as string)
    .throwIfNotFound();
  try {
    const snapshot = await fetchTopupInvoice(topup);
    if (snapshot === null) return await scheduleRetry(invoice, 'The payment processor has no invoice for it.');
    await withAccountLock(topup.account_id, (transaction, account) =>
      applyTopupInvoice(transaction, account, snapshot),
    );
  } catch (err) {
    // Each attempt has its own retry, so that an invoice that fails does not block others.
    await scheduleRetry(invoice, (err as Error).message, err);
  }
}

/** Reads the invoice of a paid top-up. Issues it if the payment was made without a page. */
async function fetchTopupInvoice(topup: Topup): Promise<InvoiceSnapshot | null> {
  const { account_id: accountId, kind, stripe_payment_intent_id: intentId } = topup;
  const syncVersion = await nextSyncVersion();
  if (intentId === null) return null;
  const invoice = await (kind === 'automatic'
    ? processor.issueTopupInvoice(intentId)
    : processor.findTopupInvoice(intentId));
  return invoice === null ? null : { kind: 'invoice', accountId, problem: null, invoice, syncVersion };
}

async function scheduleRetry(invoice: Invoice, problem: string, err?: unknown): Promise<void> {
  const { uuid, topup_uuid: topup, created_at: createdAt } = invoice;
  const attempts = invoice.attempts + 1;
  const isUnavailable = err !== undefined && !(err instanceof ProcessorError && err.fault === 'rejected');
  const isOver = !isUnavailable && createdAt <= addMilliseconds(now(), -GIVE_UP_AFTER_MS);
  const context = { err, invoice: uuid, topup, attempts, problem };
  if (isOver) logger.error(context, 'invoice of a top-up given up; issue it by hand');
  else logger.warn(context, 'invoice of a top-up not complete yet; sweep will retry');
  await Invoice.query()
    .findById(uuid)
    .whereNotNull('next_attempt_at')
    .patch({
      attempts,
      last_error: problem.slice(0, 500),
      next_attempt_at: isOver ? null : getNextAttemptByAge(createdAt, RETRY_BACKOFF),
    });
}

/** Returns the snapshot of a top-up's invoice; null if the top-up is unknown. */
export async function findInvoiceSnapshot(invoice: TopupInvoice, syncVersion: number): Promise<InvoiceSnapshot | null> {
  const topup = await Topup.query().findById(invoice.topupUuid);
  if (topup === undefined) return null;
  return { kind: 'invoice', accountId: topup.account_id, problem: null, invoice, syncVersion };
}
