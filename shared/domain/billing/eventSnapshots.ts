import { processor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import type { PaymentEvent } from '../../tables/PaymentEvent.ts';
import { Topup } from '../../tables/Topup.ts';
import { fetchCommission } from '../affiliates/commissions.ts';
import { fetchPayoutAccount } from '../affiliates/payoutAccounts.ts';
import { fetchPayoutReversal } from '../affiliates/payouts.ts';
import { type AccountSnapshot, nextSyncVersion } from '../payments/accountSnapshot.ts';
import { markRefundFailed } from './issueRefunds.ts';
import { fetchSubscription } from './syncSubscription.ts';
import { findInvoiceSnapshot } from './topupInvoices.ts';
import { buildFailedTopup, findTopupSnapshot } from './topupPayments.ts';

/**
 * Reads the objects that an event concerns. Only the object's id is taken from the event, as its contents may be out of
 * date. All parts of one event belong to the same account.
 * @returns an empty list if the event does not concern an account of this service.
 */
export async function fetchEventSnapshots(event: PaymentEvent): Promise<AccountSnapshot[]> {
  const parts = await fetchEventParts(event);
  return parts.filter((part) => part !== null);
}

async function fetchEventParts({ type, object_id: id }: PaymentEvent): Promise<(AccountSnapshot | null)[]> {
  if (type.startsWith('customer.subscription.')) return [await fetchSubscription(id)];
  if (type === 'customer.updated' || type.startsWith('payment_method.')) return [await fetchPaymentMethod(id)];
  if (type.startsWith('invoice.')) return fetchInvoiceParts(id);
  if (type.startsWith('payment_intent.')) return [await fetchTopupPayment(id)];
  if (type.startsWith('checkout.session.')) return [await fetchCheckoutSession(id)];
  if (type === 'charge.refunded') return fetchChargeParts(id);
  if (type.startsWith('refund.')) return fetchRefundParts(id);
  if (type.startsWith('charge.dispute.')) return fetchChargeParts(await processor.findDisputedCharge(id));
  if (type.startsWith('credit_note.')) return fetchCreditNoteParts(id);
  if (type === 'account.updated') return [await fetchPayoutAccount(id)];
  if (type === 'transfer.reversed') return [await fetchPayoutReversal(id)];
  return [];
}

/** Reads an invoice's subscription and the commission that the invoice earns, or its top-up. */
async function fetchInvoiceParts(invoiceId: string): Promise<(AccountSnapshot | null)[]> {
  const subscriptionId = await processor.findInvoiceSubscription(invoiceId);
  if (subscriptionId === null) return fetchTopupInvoiceParts(invoiceId);
  return [await fetchSubscription(subscriptionId), await fetchCommission(invoiceId)];
}

/**
 * Reads the payment of a top-up's invoice first: its event may not have arrived, and credits come before the invoice.
 */
async function fetchTopupInvoiceParts(invoiceId: string): Promise<(AccountSnapshot | null)[]> {
  const syncVersion = await nextSyncVersion();
  const invoice = await processor.readTopupInvoice(invoiceId);
  if (invoice === null) return [];
  const payment = invoice.intentId === null ? null : await fetchTopupPayment(invoice.intentId);
  return [payment, await findInvoiceSnapshot(invoice, syncVersion)];
}

/** Reads a customer whose payment methods have changed. */
async function fetchPaymentMethod(customerId: string): Promise<AccountSnapshot | null> {
  const known = await Account.query().findOne({ stripe_customer_id: customerId });
  if (known === undefined) return null;
  const hasPaymentMethod = (await processor.findPaymentMethod(customerId)) !== null;
  return {
    accountId: known.id,
    problem: null,
    apply: async (transaction, account) => {
      // The customer may have been replaced in the meantime.
      if (account.stripe_customer_id !== customerId) return;
      await account.$query(transaction).patch({ has_payment_method: hasPaymentMethod });
    },
  };
}

/** Reads the invoice of a credit note, which may record a refund outside of the processor. */
async function fetchCreditNoteParts(creditNoteId: string): Promise<(AccountSnapshot | null)[]> {
  const invoiceId = await processor.findCreditedInvoice(creditNoteId);
  return invoiceId === null ? [] : fetchInvoiceParts(invoiceId);
}

/** Reads a payment, if it is for a top-up. */
export async function fetchTopupPayment(intentId: string): Promise<AccountSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  return findTopupSnapshot(await processor.readPayment(intentId), syncVersion);
}

async function fetchCheckoutSession(sessionId: string): Promise<AccountSnapshot | null> {
  const session = await processor.readCheckoutSession(sessionId);
  if (session?.intentId != null) return fetchTopupPayment(session.intentId);
  if (session?.isFree === true && session.subscriptionId === null) return fetchFreeTopup(sessionId);
  return session?.subscriptionId == null ? null : fetchSubscription(session.subscriptionId);
}

/** Returns the snapshot of a top-up whose page was completed without a payment, which buys no credits. */
async function fetchFreeTopup(sessionId: string): Promise<AccountSnapshot | null> {
  const topup = await Topup.query().findOne({ stripe_session_id: sessionId });
  return topup === undefined ? null : buildFailedTopup(topup, 'nothing_paid', await nextSyncVersion());
}

/** Reads what a refunded or disputed charge paid for: a top-up, or a subscription and its commission. */
async function fetchChargeParts(chargeId: string | null): Promise<(AccountSnapshot | null)[]> {
  const syncVersion = await nextSyncVersion();
  if (chargeId === null) return [];
  const charge = await processor.readCharge(chargeId);
  if (charge === null) return [];
  if (!('subscriptionId' in charge)) return [await findTopupSnapshot(charge, syncVersion)];
  return [await fetchSubscription(charge.subscriptionId), await fetchCommission(charge.invoiceId)];
}

/** Reads the charge of a refund. A refund that failed returns credits and commissions; staff pay the customer back. */
async function fetchRefundParts(refundId: string): Promise<(AccountSnapshot | null)[]> {
  const refund = await processor.readRefund(refundId);
  if (refund === null) return [];
  const { chargeId, isFailed, isChargeRefunded } = refund;
  if (isFailed) {
    logger.error({ refundId, chargeId }, 'refund failed at the bank');
    const charge = chargeId === null ? null : await processor.readCharge(chargeId);
    // Another refund may have returned the charge before the event of the failed one arrived.
    const key = charge !== null && 'invoiceId' in charge ? charge.invoiceId : charge?.topupUuid;
    if (key != null && !isChargeRefunded) await markRefundFailed(key);
  }
  return fetchChargeParts(chargeId);
}
