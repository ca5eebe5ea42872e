import { ProcessorError, processor, type TopupInvoice } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { Topup } from '../../tables/Topup.ts';
import { type AccountSnapshot, applySnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { buildInvoiceSnapshot } from './invoices.ts';
import { ISSUE_INVOICE_KIND, PROCESSOR_TASK, withProcessor } from './processorTasks.ts';
import { findTopup } from './owedRefunds.ts';

/** An invoice that the processor rejects or does not have is given up after this time. */
const GIVE_UP_AFTER_MS = 3 * DAY_MS;

/**
 * Completes the invoice of a paid top-up, whose uuid is the key: issues that of an automatic one at the processor, and
 * searches for that of a page whose event did not arrive. Nothing is charged.
 */
export const ISSUE_INVOICE: TaskKind = {
  ...PROCESSOR_TASK,
  name: ISSUE_INVOICE_KIND,
  backoff: { minMs: MINUTE_MS, maxMs: HOUR_MS },
  isGivenUp: ({ createdAt }, err) =>
    err instanceof ProcessorError && err.fault === 'rejected' && createdAt <= addMilliseconds(now(), -GIVE_UP_AFTER_MS),
  waiting: `SELECT account_id, cast(uuid AS text) AS key FROM invoices WHERE awaits_document`,
  run: withProcessor(async ({ key }) => {
    const invoice = await Invoice.query().findOne({ uuid: key, awaits_document: true });
    if (invoice === undefined) return undefined;
    const topup = await findTopup(invoice.topup_uuid as string);
    const snapshot = await fetchTopupInvoice(topup);
    if (snapshot === null) throw new ProcessorError('rejected', 'The payment processor has no invoice for it.');
    await applySnapshot(snapshot);
    return undefined;
  }),
};

/** Reads the invoice of a paid top-up. Issues it if the payment was made without a page. */
async function fetchTopupInvoice(topup: Topup): Promise<AccountSnapshot | null> {
  const { account_id: accountId, kind, stripe_payment_intent_id: intentId } = topup;
  const syncVersion = await nextSyncVersion();
  if (intentId === null) return null;
  const invoice = await (kind === 'automatic'
    ? processor.issueTopupInvoice(intentId)
    : processor.findTopupInvoice(intentId));
  return invoice === null ? null : buildInvoiceSnapshot(accountId, invoice, syncVersion);
}

/** Returns the snapshot of a top-up's invoice; null if the top-up is unknown. */
export async function findInvoiceSnapshot(invoice: TopupInvoice, syncVersion: number): Promise<AccountSnapshot | null> {
  const topup = await Topup.query().findById(invoice.topupUuid);
  return topup === undefined ? null : buildInvoiceSnapshot(topup.account_id, invoice, syncVersion);
}
